"""Forward and backward passes, with errors that say what a network lacks.

Shapes: B batch, K classes.
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from vitruvius.core.errors import UserError
from vitruvius.nn.attention import in_full
from vitruvius.proxies import _layers
from vitruvius.proxies._activations import Activations


class SynapticFlow(NamedTuple):
    """Absolute weights of linear maps, convolutions and projections with their gradients, by name."""

    weights: dict[str, Tensor]
    gradients: dict[str, Tensor]
    attention: list[str]  # the names of the projections of attention


def class_scores(model: nn.Module, x: Tensor) -> Tensor:
    """Return the network's logits, (B, K); it is given a copy of `x`, because it may write into its input.

    Of a network that returns an object or a dictionary, as those of transformers do, these are its `logits`;
    of one that returns a tuple, its first part.
    """
    scores_BK = model(x.clone())
    if isinstance(scores_BK, Mapping) and "logits" in scores_BK:
        scores_BK = scores_BK["logits"]
    elif isinstance(scores_BK, tuple) and scores_BK:
        scores_BK = scores_BK[0]
    elif not isinstance(scores_BK, Tensor):
        scores_BK = getattr(scores_BK, "logits", scores_BK)
    is_tensor, count = isinstance(scores_BK, Tensor), len(x)
    if not is_tensor or scores_BK.dim() != 2 or len(scores_BK) != count:
        given = f"shape {tuple(scores_BK.shape)}" if is_tensor else type(scores_BK).__name__
        wanted = f"map {count} images to ({count}, classes) scores"
        raise UserError(f"a network must {wanted}; this one gives {given}")
    return scores_BK


def loss(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """Return the mean cross-entropy of the images."""
    scores_BK = class_scores(model, x)
    largest, classes = int(y.max()), scores_BK.shape[1]
    if largest >= classes:
        raise UserError(f"the labels go up to {largest}, the network has classes 0 to {classes - 1}")
    return functional.cross_entropy(scores_BK, y)


def gradients(value: Tensor, of: Mapping[str, Tensor], create_graph: bool = False) -> dict[str, Tensor]:
    """Return the gradients of a scalar by name; zero for tensors that do not influence it."""
    if not value.requires_grad:
        raise UserError("no parameter takes part in the network's class scores")
    found = torch.autograd.grad(
        value, list(of.values()), retain_graph=True, create_graph=create_graph, materialize_grads=True
    )
    return dict(zip(of, found, strict=True))


def synaptic_flow(copy: nn.Module, ones: Tensor) -> SynapticFlow:
    """Differentiate the summed class scores of an image of ones with the absolute parameters of `copy`."""
    # Without normalisation layers the products of weights of a deep network leave the range of float32.
    copy = copy.to("cpu", torch.float64)
    with torch.no_grad():
        for parameter in copy.parameters():
            parameter.abs_()
    weights = _layers.matrices(copy)
    with in_full(copy), Activations() as seen:
        total = class_scores(copy, ones.to("cpu", torch.float64)).sum()
    modules = _layers.attention(copy)
    attention = {id(weight) for module in modules for weight in _layers.matrices(module).values()}
    if not modules:
        attention = {id(one.weight) for call in seen.all_attention for one in seen.projections(call)}
    return SynapticFlow(
        {name: weight.detach() for name, weight in weights.items()},
        gradients(total, weights),
        [name for name, weight in weights.items() if id(weight) in attention],
    )
