"""Targets of sequences of whole numbers: their shift, and the padding at their ends. B rows, T tokens."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from vitruvius.doctor.passes import Compared, LastForward

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


def _beside_padding(
    target_BT: Tensor, inputs: Sequence[Tensor], ignored: int, model: nn.Module | None
) -> Padding | None:
    """The one target at all places where the inputs are padding, as an embedding declares it."""
    layers = model.modules() if model is not None else ()
    fills = {layer.padding_idx for layer in layers if isinstance(layer, nn.Embedding)} - {None}
    for x in inputs:
        if x.shape != target_BT.shape or x.is_floating_point() or not fills:
            continue
        filled = padding(x, ignored=-1)
        if filled is None or filled.value not in fills:
            continue
        values = target_BT[x == filled.value]
        if bool((values == values[0]).all()) and int(values[0]) != ignored:
            return Padding(int(values[0]), filled.fraction, False)
    return None


def facts(compared: Compared, last: LastForward, masks: list[Tensor]) -> dict[str, Any] | None:
    """How far targets are shifted against the inputs, and whether padding is among them; None if neither."""
    known = dict.fromkeys((last.x, *(v for v in (*last.args, *last.words) if isinstance(v, Tensor))))
    inputs = [x for x in known if isinstance(x, Tensor)]
    y = grid(compared.target, inputs)
    if y is None or not last.grad or compared.name not in ("cross_entropy", "nll_loss"):
        return None
    # Labels that a network is given, because it computes the loss itself, are no input to compare them with.
    seen = [x for x in inputs if x is last.x or x.shape != y.shape or not torch.equal(x, y)]
    filled = padding(y, compared.ignored) if compared.counts else None
    if filled is None and compared.counts:  # time may come first
        filled = padding(y.T, compared.ignored)
    if filled is None and compared.counts:
        filled = _beside_padding(y, inputs, compared.ignored, last.model)
        if filled is not None:
            beside = {"padding": filled.value, "padded": filled.fraction, "declared": True}
            return {"shift": shift(y, seen), "is_sorted": False, **beside}
    found: dict[str, Any] = {"shift": shift(y, seen)}
    if filled is not None:
        layers = last.model.modules() if last.model is not None else ()
        fills = [layer.padding_idx for layer in layers if isinstance(layer, nn.Embedding)]
        hidden = [(mask, x) for mask in masks for x in inputs if x.shape == mask.shape]
        is_hidden = any(torch.equal(mask, x == filled.value) for mask, x in hidden)
        found |= {"padding": filled.value, "padded": filled.fraction, "is_sorted": filled.is_sorted}
        found["declared"] = filled.value in fills or is_hidden
    return None if filled is None and found["shift"] is None else found
