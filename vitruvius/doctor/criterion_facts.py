"""What a loss function was given: who made the predictions, and along which axis they are distributions."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from vitruvius.checks import CriterionDetails
from vitruvius.doctor import origins

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
}
MOST_CLASSES = 10_000
LARGEST = 4_000_000  # numbers that are looked at


def details(
    name: str, scores: Tensor, target: Any, given: dict[str, Any], path: Callable[[nn.Module | None], str]
) -> CriterionDetails:
    """The facts of one call."""
    node = origins.behind_reshapes(scores.grad_fn)
    origin = origins.of(node)
    made_by = origin.operation if origin else MADE_BY.get(node.name() if node is not None else "", "")
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
    )


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
