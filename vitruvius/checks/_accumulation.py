"""The table behind `accumulation_norm`: a batch of a trained network in every (batch, steps), against the whole."""

from copy import deepcopy
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from vitruvius.checks import Example, Trace
from vitruvius.checks._experiment import MOVED, first_tensor
from vitruvius.nn.accumulation import Accumulate, Measure, by_modules, difference, modules_mixing_rows


class Row(NamedTuple):
    """One way to cut the batch: how far outputs and gradient are from those of the whole."""

    batch: int
    steps: int
    logits: float | None = None  # largest difference
    gradient: float | None = None  # length of the difference over that of the gradient
    failed: str | None = None


class Table(NamedTuple):
    """One network that was trained."""

    network: str
    where: str
    modules: tuple[str, ...] = ()  # those whose answer depends on which rows come together
    rows: tuple[Row, ...] = ()
    failed: str | None = None


def tables(trace: Trace) -> list[Table]:
    """One table for each network that was trained on batches of several rows.

    The loss is the squared distance to fixed numbers drawn at random, for any network has that one. Dropout is off and
    BatchNorm is in the mode it was trained in, so that only the cut makes a difference.
    """
    found = []
    for example in trace.examples:
        if (
            example.args
            and isinstance(example.args[0], Tensor)
            and example.args[0].dim()
            and len(example.args[0]) > 1
        ):
            try:
                with torch.random.fork_rng(devices=[]), torch.enable_grad():
                    found.append(_table(example, _is_normalised(trace, example)))
            except Exception as error:  # a network that cannot be copied or cut must not hide the others
                why = f"{type(error).__name__}: {error}"
                found.append(Table(type(example.model).__name__, example.where, failed=why))
    return found


def cuts(batch: int) -> list[int]:
    """Sizes of micro-batches: the whole, then every smaller power of two that divides it.

    >>> cuts(32), cuts(12), cuts(7)
    ([32, 16, 8, 4, 2, 1], [12, 4, 2, 1], [7, 1])
    """
    powers = [2**power for power in range(batch.bit_length()) if batch % 2**power == 0]
    return sorted({batch, *powers}, reverse=True)


def _is_normalised(trace: Trace, example: Example) -> bool:
    """Whether a BatchNorm of this network was in training mode while it was trained."""
    mine = (event for event in trace.of("forward") if event["root"] == id(example.model) and event["grad"])
    return any(event["normalising"] for event in mine)


def _table(example: Example, normalised: bool) -> Table:
    model, batch = deepcopy(example.model).eval(), len(example.args[0])
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.train(normalised)
    whole = _answer(deepcopy(model), example, slice(0, batch))
    if len(whole) != batch:
        raise ValueError(f"{batch} rows go in and {len(whole)} come out")
    if not torch.equal(whole, _answer(deepcopy(model), example, slice(0, batch))):
        raise ValueError("the same batch gives another output the second time")
    run = by_modules(model, _measure(example, whole))
    modules = modules_mixing_rows(
        model, batch, lambda network: _answer(network, example, slice(0, batch)), MOVED
    )
    rows = tuple(_row(run, size, batch // size) for size in cuts(batch))
    return Table(type(model).__name__, example.where, tuple(modules), rows)


def _row(run: Accumulate, batch: int, steps: int) -> Row:
    try:
        return Row(batch, steps, *difference(run, [batch] * steps, [1 / steps] * steps))
    except ValueError as error:  # BatchNorm refuses a single row of a (B, C) tensor
        return Row(batch, steps, failed=str(error))


def _measure(example: Example, whole: Tensor) -> Measure:
    drawn = torch.randn(whole.shape, generator=torch.Generator().manual_seed(0))
    target = drawn.to(whole.device, whole.dtype)

    def measure(network: nn.Module, rows: slice) -> tuple[Tensor, Tensor]:
        output = _answer(network, example, rows)
        return output, (output - target[rows]).square().mean()

    return measure


def _answer(network: nn.Module, example: Example, rows: slice) -> Tensor:
    """The first tensor that a network makes of some rows of its example batch."""
    batch = len(example.args[0])

    def cut(value: Any) -> Any:
        return value[rows] if isinstance(value, Tensor) and value.dim() and len(value) == batch else value

    named = {name: cut(given) for name, given in example.kwargs.items()}
    return first_tensor(network(*map(cut, example.args), **named))
