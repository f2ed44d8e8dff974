r"""Squared errors and squared weights: what the reconstructing objectives add up.

Shapes: M models side by side (or none), B batch, D entries of a sample.
"""

from typing import NamedTuple

import torch
from torch import Generator, Tensor, nn

from vitruvius.objectives import Loss


class Seen(NamedTuple):
    """What a model is shown of a sample, and which entries of its answer count (None: all)."""

    x: Tensor
    counts: Tensor | None = None


def squared_error(output: Tensor, clean_BD: Tensor, counts: Tensor | None = None) -> Tensor:
    r"""$\frac1B\sum_b\sum_d (\hat x_{bd} - x_{bd})^2$ over the entries that count; one number per model.

    >>> squared_error(torch.tensor([[1.0, 2.0], [0.0, 0.0]]), torch.zeros(2, 2)).item()
    2.5
    """
    error = (output - clean_BD).square()
    if counts is not None:
        error = error * counts
    return error.sum(-1).mean(-1)


def penalty(model: nn.Module) -> Tensor:
    r"""$\sum_i \lVert W_i\rVert_F^2$ over the matrices of a model, biases and norms left out; one number per model."""
    parameters = ((name, p) for name, p in model.named_parameters() if p.requires_grad)
    matrices = [p for name, p in parameters if name.endswith("weight") and p.ndim >= 2]
    return torch.stack([matrix.square().sum((-2, -1)) for matrix in matrices]).sum(0)


def error_of(model: nn.Module, x: Tensor, seen: Seen, generator: Generator | None, l2: float) -> Loss:
    """The loss of one model that is shown `seen` and should answer `x`; the penalty belongs to training only."""
    counts = None if seen.counts is None else seen.counts.flatten(1)
    value = squared_error(model(seen.x).flatten(1), x.flatten(1), counts)
    return Loss(value + l2 * penalty(model) if l2 and generator is not None else value)
