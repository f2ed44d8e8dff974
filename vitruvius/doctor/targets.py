"""Targets of sequences of whole numbers: their shift, and the padding at their ends. B rows, T places."""

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

SHORTEST, MOST_SHIFT = 5, 2


class Padding(NamedTuple):
    """The number that fills up rows."""

    value: int
    fraction: float
    is_sorted: bool


def grid(target: Tensor, inputs: Sequence[Tensor]) -> Tensor | None:
    """The targets as (B, T), by the shape of an input if they were flattened."""
    if target.is_floating_point() or target.dim() not in (1, 2):
        return None
    if target.dim() == 2:
        return target if min(target.shape) > 1 else None
    for x in inputs:
        if x.dim() == 2 and not x.is_floating_point() and len(x) > 1 and target.numel() % len(x) == 0:
            steps = target.numel() // len(x)
            if abs(steps - x.shape[1]) <= MOST_SHIFT and steps > 1:
                return target.reshape(len(x), steps)
    return None


def shift(target_BT: Tensor, inputs: Sequence[Tensor]) -> int | None:
    """How many steps later in the input the targets are found: 0, 1 or 2; None if they are not."""
    for x in inputs:
        if x.dim() != 2 or x.is_floating_point() or len(x) != len(target_BT) or x.shape[1] < SHORTEST:
            continue
        matches = [by for by in range(MOST_SHIFT + 1) if _is_shifted(x, target_BT, by)]
        if len(matches) == 1:  # a constant text is shifted by any number
            return matches[0]
    return None


def _is_shifted(x: Tensor, y: Tensor, by: int) -> bool:
    length = min(x.shape[1] - by, y.shape[1])
    return bool((x[:, by : by + length] == y[:, :length]).all())


def padding(target_BT: Tensor, ignored: int) -> Padding | None:
    """The number that ends rows in runs of different lengths and occurs nowhere else; none if ignored."""
    y = target_BT
    value = int(y[:, -1].mode().values)
    if y.shape[1] < 3 or value == ignored:
        return None
    is_pad = y == value
    ends = is_pad.flip(1).long().cumprod(1).flip(1).bool()
    lengths = ends.sum(1)
    if bool((is_pad != ends).any()) or int(lengths.min()) == int(lengths.max()) or int(lengths.max()) < 2:
        return None
    if bool((lengths == y.shape[1]).any()) or float(ends.float().mean()) < 0.05:
        return None
    rises, falls = y[:, 1:] >= y[:, :-1], y[:, 1:] <= y[:, :-1]
    is_sorted = bool((rises.all(1) | falls.all(1)).all())
    return Padding(value, float(ends.float().mean()), is_sorted)
