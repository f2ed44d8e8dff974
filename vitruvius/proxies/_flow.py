"""The pass of SynFlow and its kin: an image of ones through absolute weights, in float64."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from vitruvius.proxies import _passes, _roles
from vitruvius.proxies._watch import Watch


class Flow(NamedTuple):
    """Absolute weights of linear maps, convolutions and projections, and their gradients, by parameter name."""

    weights: dict[str, Tensor]
    gradients: dict[str, Tensor]
    attention: list[str]
    """The names that belong to attention modules."""
    mlp: list[str]
    """The matrices that stand directly before or next behind an activation function."""


def flow(copy: nn.Module, ones: Tensor) -> Flow:
    """The gradients of the sum of the class scores, after every parameter of `copy` became its absolute value."""
    # Without normalisation layers the products of weights of a deep network leave the range of float32.
    copy = copy.to("cpu", torch.float64)
    with torch.no_grad():
        for parameter in copy.parameters():
            parameter.abs_()
    weights = _roles.matrices(copy)
    with Watch() as seen:
        total = _passes.class_scores(copy, ones.to("cpu", torch.float64)).sum()
    attention = {
        id(weight) for module in _roles.attention(copy) for weight in _roles.matrices(module).values()
    }
    mlp = seen.mlp.keys() - attention
    return Flow(
        {name: weight.detach() for name, weight in weights.items()},
        _passes.gradients(total, weights),
        [name for name, weight in weights.items() if id(weight) in attention],
        [name for name, weight in weights.items() if id(weight) in mlp and weight.dim() == 2],
    )
