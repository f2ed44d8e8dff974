"""Gradient accumulation measured: a batch of a trained network in every (batch, steps), against the whole."""

from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from vitruvius.checks import Example, Trace, first_tensor
from vitruvius.doctor.results import AccumulationTable, MicroBatches
from vitruvius.nn.accumulation import Accumulate, Measure, by_modules, difference, modules_mixing_rows

MOVED = 1e-4  # relative change of an output that counts as a change


def tables(trace: Trace) -> tuple[AccumulationTable, ...]:
    """One table for each network that was trained on batches of several rows.

    The loss is the squared distance to fixed random numbers, which any network has. Dropout is off and
    BatchNorm is in the mode it was trained in, so that only the micro-batches make a difference.
    """
    return tuple(_table_or_failure(trace, example) for example in trace.examples if example.rows > 1)


def _table_or_failure(trace: Trace, example: Example) -> AccumulationTable:
    name = type(example.model).__name__
    trained = [event for event in trace.forwards() if event.network == example.network]
    try:
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            return _table(example, any(event.batch_norm for event in trained), name)
    except Exception as error:  # a network that cannot be copied or cut must not hide the others
        why = f"{type(error).__name__}: {error}"
        return AccumulationTable(network=name, where=example.where, modules=(), rows=(), failed=why)


def cuts(batch: int) -> list[int]:
    """Sizes of micro-batches: the whole, then every smaller power of two that divides it.

    >>> cuts(32), cuts(12), cuts(7)
    ([32, 16, 8, 4, 2, 1], [12, 4, 2, 1], [7, 1])
    """
    powers = [2**power for power in range(batch.bit_length()) if batch % 2**power == 0]
    return sorted({batch, *powers}, reverse=True)


def _table(example: Example, train_batch_norm: bool, name: str) -> AccumulationTable:
    model, batch = deepcopy(example.model).eval(), example.rows
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.train(train_batch_norm)
    everything = slice(0, batch)
    whole = _output(deepcopy(model), example, everything)
    if len(whole) != batch:
        raise ValueError(f"{batch} rows go in and {len(whole)} come out")
    if not torch.equal(whole, _output(deepcopy(model), example, everything)):
        raise ValueError("the same batch gives another output the second time")
    run = by_modules(model, _measure(example, whole))
    modules = modules_mixing_rows(model, batch, lambda network: _output(network, example, everything), MOVED)
    rows = tuple(_micro_batches(run, size, batch // size) for size in cuts(batch))
    return AccumulationTable(
        network=name, where=example.where, modules=tuple(modules), rows=rows, failed=None
    )


def _micro_batches(run: Accumulate, batch: int, steps: int) -> MicroBatches:
    logits = gradient = failed = None
    try:
        logits, gradient = difference(run, [batch] * steps, [1 / steps] * steps)
    except ValueError as error:  # BatchNorm refuses a single row of a (B, C) tensor
        failed = str(error)
    return MicroBatches(batch=batch, steps=steps, logits=logits, gradient=gradient, failed=failed)


def _measure(example: Example, whole: Tensor) -> Measure:
    drawn = torch.randn(whole.shape, generator=torch.Generator().manual_seed(0))
    target = drawn.to(whole.device, whole.dtype)

    def measure(network: nn.Module, rows: slice) -> tuple[Tensor, Tensor]:
        output = _output(network, example, rows)
        return output, (output - target[rows]).square().mean()

    return measure


def _output(network: nn.Module, example: Example, rows: slice) -> Tensor:
    """The first tensor that a network returns for some rows of its example batch."""

    def cut(value: Any) -> Any:
        has_rows = isinstance(value, Tensor) and value.dim() and len(value) == example.rows
        return value[rows] if has_rows else value

    named = {name: cut(given) for name, given in example.kwargs.items()}
    found = first_tensor(network(*map(cut, example.args), **named))
    if found is None:
        raise TypeError("the network returns no tensor")
    return found
