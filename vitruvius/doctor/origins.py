"""Which operation, line and module made a tensor: notes on its node of the autograd graph."""

import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

KEY, CUT = "vitruvius", "_vitruvius_cut"
RESHAPES = (
    *("SqueezeBackward0", "SqueezeBackward1", "ViewBackward0", "ReshapeAliasBackward0"),
    *("UnsafeViewBackward0", "SliceBackward0", "AliasBackward0", "TBackward0", "ExpandBackward0"),
    *("UnsqueezeBackward0", "PermuteBackward0", "TransposeBackward0", "CloneBackward0", "ToCopyBackward0"),
)
"""Operations that give the same numbers in another shape or order."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Who made a tensor."""

    operation: str
    where: str
    module: weakref.ref[nn.Module] | None = None
    is_users: bool = False  # the user's own code called the operation, not a library
    constant: float | None = None  # the number without a gradient that was added, if one was
    cut: str = ""  # the line whose comparison has cut that number off its gradient, empty if none has


def mark(value: Tensor, origin: Origin) -> None:
    """Note who made a tensor; it is found as long as the graph exists."""
    node: Any = value.grad_fn
    if node is not None:
        node.metadata[KEY] = origin


def cut_at(values: Iterable[Any]) -> str:
    """The line that has cut some tensors off their gradients by a comparison; empty if none has."""
    return next((found for value in values if (found := getattr(value, CUT, ""))), "")


def note_cut(value: Any, where: str) -> None:
    """Note that a tensor comes from a comparison of what has a gradient."""
    if where and isinstance(value, Tensor) and not value.requires_grad:
        setattr(value, CUT, where)


def of(node: Any) -> Origin | None:
    """Who made the tensor of a node, if that was noted."""
    found = node.metadata.get(KEY) if node is not None else None
    return found if isinstance(found, Origin) else None


def behind_reshapes(node: Any) -> Any:
    """The node that made the numbers of a tensor, whatever their shape is now."""
    while node is not None and of(node) is None and node.name() in RESHAPES:
        node = node.next_functions[0][0]
    return node
