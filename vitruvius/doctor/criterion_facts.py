"""What a loss function was given: who made the predictions, and along which axis they are distributions."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from vitruvius.checks import CriterionDetails
from vitruvius.doctor import origins
from vitruvius.doctor.autograd_graph import VIEWS, weights_before

MADE_BY = {
    "ReluBackward0": "relu",
    "SigmoidBackward0": "sigmoid",
    "TanhBackward0": "tanh",
    "SoftmaxBackward0": "softmax",
    "HardtanhBackward0": "relu6",
    "GeluBackward0": "gelu",
    "SiluBackward0": "silu",
    "SoftplusBackward0": "softplus",
    "EluBackward0": "elu",
    "ClampMinBackward0": "relu",
    "AbsBackward0": "abs",
    "LogSigmoidBackward0": "logsigmoid",
    "HardsigmoidBackward0": "sigmoid",
    "ExpBackward0": "exp",
}
REACH = {
    "relu": (0.0, math.inf),
    "abs": (0.0, math.inf),
    "exp": (0.0, math.inf),
    "softplus": (0.0, math.inf),
    "sigmoid": (0.0, 1.0),
    "softmax": (0.0, 1.0),
    "tanh": (-1.0, 1.0),
    "relu6": (0.0, 6.0),
    "logsigmoid": (-math.inf, 0.0),
}
"""What an activation can return."""
FINAL = ("LogSoftmaxBackward0", "SoftmaxBackward0", "SigmoidBackward0", "LogSigmoidBackward0")
"""Activations that make probabilities of scores: who made the scores counts."""
REGRESSION = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
LINEAR = ("AddmmBackward0", "MmBackward0", "BmmBackward0", "LinearBackward0", "BaddbmmBackward0")
STRAIGHT = (*VIEWS, "AddBackward0", "MulBackward0", "DivBackward0")
MOST_CLASSES = 10_000
LARGEST = 4_000_000  # numbers that are looked at


def details(
    name: str,
    scores: Tensor,
    target: Any,
    given: dict[str, Any],
    path: Callable[[nn.Module | None], str],
    key_of: Callable[[Tensor], int],
) -> CriterionDetails:
    """The facts of one call."""
    node = origins.behind_reshapes(scores.grad_fn)
    origin = origins.of(node)
    before = origins.of(origins.behind_reshapes(_first(node)))
    if node is not None and node.name() in FINAL and before is not None and before.operation == "dropout":
        origin = before
    made_by = origin.operation if origin else _operation(node)
    module = origin.module() if origin and origin.module else None
    values, y = scores.detach(), target.detach() if isinstance(target, Tensor) else None
    looked = name in ("cross_entropy", "nll_loss", "kl_div") and values.is_floating_point()
    looked = looked and 0 < values.numel() <= LARGEST
    weight = given.get("pos_weight" if name.startswith("binary") else "weight")
    weighs = isinstance(weight, Tensor) and weight.numel() <= MOST_CLASSES and _is_for_classes(name, weight)
    return CriterionDetails(
        made_by=made_by if made_by != "sum" else "",
        made_at=origin.where if origin else "",
        module=path(module),
        dtype=str(values.dtype).removeprefix("torch."),
        target_dtype=str(y.dtype).removeprefix("torch.") if y is not None else "",
        scores_grad=scores.requires_grad,
        target_grad=isinstance(target, Tensor) and target.requires_grad,
        distribution_axes=_distribution_axes(values) if looked else (),
        logarithm_axes=_distribution_axes(values.float().exp()) if looked else (),
        positive=looked and bool((values > 1e-5).any()),
        target_negative=name == "kl_div" and y is not None and bool((y < 0).any()),
        log_target=bool(given.get("log_target", False)),
        weights=tuple(map(float, weight.detach().flatten().tolist()))
        if weighs and weight is not None
        else (),
        counts=_counts(name, y, scores) if weighs else (),
        outside=_outside(made_by, y) if name in REGRESSION else 0.0,
        last_axis=name in ("cross_entropy", "nll_loss") and _ends_in_classes(scores),
        target_rows=_row_error(y, values) if name == "cross_entropy" else None,
        last_layer=weights_before(scores.grad_fn, key_of) if scores.grad_fn is not None else 0,
    )


def _operation(node: Any) -> str:
    """The activation that made a tensor, by its node of the graph; empty if it is none."""
    name = node.name() if node is not None else ""
    if name.startswith("ClampBackward") and getattr(node, "_saved_min", None) == 0:
        return "relu" if getattr(node, "_saved_max", None) is None else ""
    return MADE_BY.get(name, "")


def _first(node: Any) -> Any:
    return node.next_functions[0][0] if node is not None and node.next_functions else None


def _outside(made_by: str, target: Tensor | None) -> float:
    """The fraction of the targets that an activation cannot reach."""
    if made_by not in REACH or target is None or not target.numel() or target.is_complex():
        return 0.0
    low, high = REACH[made_by]
    slack = 1e-3 * float(target.double().std(correction=0)) + 1e-6
    return float(((target < low - slack) | (target > high + slack)).double().mean())


def _ends_in_classes(scores: Tensor) -> bool:
    """Whether scores (N, C, C) come straight from a linear layer, whose outputs are the last axis."""
    if scores.dim() != 3 or scores.shape[1] != scores.shape[2] or scores.shape[1] < 2:
        return False
    node: Any = scores.grad_fn
    for _ in range(6):
        if node is None or node.name() in LINEAR:
            return node is not None
        if node.name() not in STRAIGHT:
            return False
        node = node.next_functions[0][0]
    return False


def _row_error(target: Tensor | None, scores: Tensor) -> float | None:
    """How far the rows of floating targets are from distributions; None if targets are numbers of classes."""
    if target is None or not target.is_floating_point() or target.shape != scores.shape or target.dim() < 2:
        return None
    return float((target.float().sum(1) - 1).abs().max()) if target.numel() else None


def _is_for_classes(name: str, weight: Tensor) -> bool:
    return weight.numel() == 1 if name.startswith("binary") else weight.dim() == 1


def _distribution_axes(values: Tensor) -> tuple[int, ...]:
    values = values.float()
    if bool((values < 0).any()):
        return ()
    axes = [axis for axis, size in enumerate(values.shape) if size > 1]
    return tuple(axis for axis in axes if bool(((values.sum(axis) - 1).abs() < 1e-3).all()))


def _counts(name: str, target: Tensor | None, scores: Tensor) -> tuple[int, ...]:
    if target is None or not target.numel():
        return ()
    if name.startswith("binary"):
        positive = int((target > 0.5).sum())
        return target.numel() - positive, positive
    if target.is_floating_point():
        return ()
    classes = scores.shape[1] if scores.dim() > 1 else len(scores)
    inside = target[(target >= 0) & (target < classes)]
    return tuple(torch.bincount(inside.flatten(), minlength=classes).tolist())
