r"""The exponential moving average of the weights: it is evaluated, and kept as the model, when it is on.

After step $t$: $\bar w \leftarrow d_t\,\bar w + (1 - d_t)\,w$ with $d_t = \min(d, \frac{1+t}{10+t})$, so that
the first weights are soon forgotten (Polyak and Juditsky 1992; the ramp is that of TensorFlow's average).
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class Average:
    """The moving average of a model's weights; a checkpoint holds it."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.weights = {name: value.detach().clone() for name, value in model.state_dict().items()}

    def update(self, model: nn.Module, step: int) -> None:
        """Take in the weights after optimiser step `step`, counted from 1."""
        kept = min(self.decay, (1 + step) / (10 + step))
        for name, value in model.state_dict().items():
            if value.is_floating_point():
                self.weights[name].lerp_(value.detach(), 1 - kept)
            else:
                self.weights[name].copy_(value)

    def load(self, weights: dict[str, Tensor]) -> None:
        """Take the average of a checkpoint."""
        for name, value in self.weights.items():
            value.copy_(weights[name])

    @contextmanager
    def applied(self, model: nn.Module) -> Iterator[None]:
        """Give the model the averaged weights inside the context, and its own to the bit behind it."""
        state = model.state_dict()
        own = {name: value.detach().clone() for name, value in state.items()}
        _copy(self.weights, state)
        try:
            yield
        finally:
            _copy(own, state)


@torch.no_grad()
def _copy(source: dict[str, Tensor], target: dict[str, Tensor]) -> None:
    for name, value in source.items():
        target[name].copy_(value)
