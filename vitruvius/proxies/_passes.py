"""A forward and a backward pass, with errors that say what a network lacks.

Shapes: B batch, K classes.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

from vitruvius.core.errors import UserError


def class_scores(model: nn.Module, x: Tensor) -> Tensor:
    """The network's logits, (B, K); it is given a copy, because it may write into its input."""
    scores_BK = model(x.clone())
    if not isinstance(scores_BK, Tensor) or scores_BK.dim() != 2 or len(scores_BK) != len(x):
        given = (
            f"shape {tuple(scores_BK.shape)}" if isinstance(scores_BK, Tensor) else type(scores_BK).__name__
        )
        raise UserError(
            f"a network must map {len(x)} images to ({len(x)}, classes) scores; this one gives {given}"
        )
    return scores_BK


def loss(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """The mean cross-entropy of some images."""
    scores_BK = class_scores(model, x)
    if int(y.max()) >= scores_BK.shape[1]:
        raise UserError(
            f"the labels go up to {int(y.max())}, the network has classes 0 to {scores_BK.shape[1] - 1}"
        )
    return functional.cross_entropy(scores_BK, y)


def gradients(value: Tensor, of: Mapping[str, Tensor], create_graph: bool = False) -> dict[str, Tensor]:
    """The gradients of a scalar by name; zero for what takes no part in it."""
    if not value.requires_grad:
        raise UserError("no parameter takes part in the network's class scores")
    found = torch.autograd.grad(
        value,
        list(of.values()),
        retain_graph=True,
        create_graph=create_graph,
        allow_unused=True,
        materialize_grads=True,
    )
    return dict(zip(of, found, strict=True))
