"""Float64 where the network is float32: half the speed, for digits that nobody needs."""

from math import prod

import torch

from vitruvius.checks import Criterion, CriterionDetails, Findings, Trace, exact_note, training
from vitruvius.checks._cost import LARGEST, milliseconds
from vitruvius.checks._definitions import inputs_line

SICK = training(
    "x = torch.randn(8, 3)", "y = x.double().sum(1, keepdim=True)  # here", "F.mse_loss(net(x), y).backward()"
)
HEALTHY = SICK.replace("x.double()", "x")
ROWS = 64  # of the product that is timed


def float64_by_accident(trace: Trace) -> Findings:
    """A loss of float64 numbers although the weights, or torch's default, are float32."""
    if torch.get_default_dtype() == torch.float64:
        return
    weights = {event.dtypes[1] for event in trace.forwards()}
    for event in trace.of(Criterion):
        if event.details is None or not event.grad:
            continue
        said = _said(event.details, weights)
        if said:
            yield exact_note(
                where=_made(event, weights) or event.where,
                also=(event.where,),
                evidence=said + _timed(trace),
                why="numpy's numbers are float64, and one such operand makes everything after it float64: "
                "twice the memory, and slower",
                fix="convert the data once: torch.from_numpy(a).float()",
            )
            return


def _made(event: Criterion, weights: set[str]) -> str:
    """The line that made the float64 numbers: the inputs, or the targets if only they are float64."""
    facts = event.details
    only_targets = facts is not None and facts.dtype != "float64" and weights == {"float32"}
    return inputs_line(event.where, 1 if only_targets else 0)


def _said(facts: CriterionDetails, weights: set[str]) -> str:
    if facts.dtype == "float64" and weights == {"float64"}:
        return "the network and its data are float64 while torch's default is float32"
    if "float64" in (facts.dtype, facts.target_dtype) and "float32" in weights:
        return (
            f"the predictions are {facts.dtype} and the targets {facts.target_dtype}; the weights are float32"
        )
    return ""


def _timed(trace: Trace) -> str:
    """The largest weight matrix times some rows, in both precisions."""
    shapes = [p.shape for p in trace.parameters.values() if len(p.shape) == 2 and prod(p.shape) <= LARGEST]
    if not shapes:
        return ""
    rows, columns = max(shapes, key=prod)
    single, double = (_product(rows, columns, kind) for kind in (torch.float32, torch.float64))
    times = f"{double:.3g} ms in float64, {single:.3g} in float32"
    return f" ({ROWS} rows times the largest weight matrix: {times})"


def _product(rows: int, columns: int, kind: torch.dtype) -> float:
    """Milliseconds of one product."""
    x, weights = torch.zeros(ROWS, columns, dtype=kind), torch.zeros(columns, rows, dtype=kind)
    return milliseconds(lambda: x @ weights)
