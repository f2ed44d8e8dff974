"""Fully connected autoencoders: a single one, or several of one shape trained in one batched computation.

Shapes: M models side by side, B batch, D entries of a sample, I inputs and O outputs of a layer.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import Self

import torch
from torch import Tensor, nn

from vitruvius.arch import cost
from vitruvius.core.errors import UserError
from vitruvius.nn.seeding import torch_seeded

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {"identity": nn.Identity, "relu": nn.ReLU, "gelu": nn.GELU}
Layer = Callable[[int, int], nn.Module]


class Autoencoder(nn.Module):
    """Linear layers down to the latent and back up, with activations except at the latent and the end."""

    def __init__(
        self, features: int, widths: Sequence[int], activation: str = "relu", layer: Layer = nn.Linear
    ) -> None:
        super().__init__()
        self.sizes, self.activation = (features, *widths), activation
        self.encoder = _chain(self.sizes, activation, layer)
        self.decoder = _chain(self.sizes[::-1], activation, layer)

    def forward(self, x: Tensor) -> Tensor:
        """The reconstruction, in the shape of the input."""
        return self.decoder(self.encode(x)).view_as(x)

    def encode(self, x: Tensor) -> Tensor:
        """The latent vector of each sample, which may have any shape."""
        return self.encoder(x.flatten(1))


class LinearStack(nn.Module):
    """M linear layers of one shape, each with its own input, as one batched product."""

    def __init__(self, models: int, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(models, outputs, inputs))
        self.bias = nn.Parameter(torch.zeros(models, outputs))

    def forward(self, x_MBI: Tensor) -> Tensor:
        """The output of each layer for its own input, (M, B, O)."""
        return torch.baddbmm(self.bias[:, None], x_MBI, self.weight.mT)


class Stack(Autoencoder):
    """M autoencoders of one shape as one module: the first dimension of every weight is M."""

    def __init__(self, models: int, features: int, widths: Sequence[int], activation: str = "relu") -> None:
        super().__init__(features, widths, activation, partial(LinearStack, models))

    @classmethod
    def of(cls, models: Sequence[Autoencoder]) -> Self:
        """The stack of these models, which share one shape."""
        first = models[0]
        stack = cls(len(models), first.sizes[0], first.sizes[1:], first.activation)
        stack.to(next(first.parameters()))
        states = [model.state_dict() for model in models]
        stack.load_state_dict({name: torch.stack([state[name] for state in states]) for name in states[0]})
        return stack

    def encode(self, x: Tensor) -> Tensor:
        """The latents of each model's own samples, (M, B, latent)."""
        return self.encoder(x)

    def one(self, index: int) -> Autoencoder:
        """The model of an index, with a copy of its weights."""
        weights = {name: value[index] for name, value in self.state_dict().items()}
        model = Autoencoder(self.sizes[0], self.sizes[1:], self.activation)
        model.to(next(iter(weights.values())))
        model.load_state_dict(weights)
        return model


def build(features: int, widths: Sequence[int], activation: str, seed: int) -> Autoencoder:
    """An autoencoder with weights drawn from a seed; the global RNG is left as it was."""
    with torch_seeded(seed):
        return Autoencoder(features, widths, activation)


def refuse_if_too_big(shapes: Iterable[Sequence[int]], batch: int) -> None:
    """Refuse autoencoders, given by their layer sizes, that together exceed this machine's memory."""
    sizes = [2 * sum(a * b + b for a, b in pairwise(shape)) for shape in shapes]
    activations = 4 * batch * sum(map(sum, shapes))
    need = cost.FLOAT * ((cost.TRAINING_COPIES + 1) * sum(sizes) + activations)
    have = cost.memory_bytes()
    if need > 0.9 * have:
        raise UserError(
            f"{len(sizes):,} autoencoders of {sum(sizes):,} parameters do not fit: training them needs about "
            f"{need / 2**30:,.1f} GiB, this machine has {have / 2**30:,.1f} GiB"
        )


def _chain(sizes: Sequence[int], activation: str, layer: Layer) -> nn.Sequential:
    modules: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        modules += [layer(inputs, outputs), ACTIVATIONS[activation]()]
    return nn.Sequential(*modules[:-1])
