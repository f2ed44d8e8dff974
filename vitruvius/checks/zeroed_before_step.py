"""Gradients are zeroed between backward() and step(): the step has nothing to apply."""

from vitruvius.checks import BATCH, Findings, Step, Trace, ZeroGrad, exact_error, lines, training
from vitruvius.checks._steps import line

SICK = training(BATCH, "optimizer.zero_grad()").replace("optimizer.step()", "optimizer.step()  # here")
HEALTHY = training()


def zeroed_before_step(trace: Trace) -> Findings:
    """A step whose gradients were computed and then cleared."""
    steps = trace.of(Step)
    empty = [event for event in steps if event.zeroed or (event.waiting and event.gradient_scale == 0)]
    if len(empty) > 1:
        first = empty[0]
        zeroings = [event for event in trace.of(ZeroGrad) if event.optimiser == first.optimiser]
        yield exact_error(
            where=first.where,
            also=lines(zeroings),
            evidence=f"{len(empty)} of {len(steps)} steps found only empty gradients although backward() "
            f"had run; zeroed at {', '.join(sorted({line(event.where) for event in zeroings}))}",
            why="zero_grad() after backward() throws the new gradients away before step() can use them",
            fix="move zero_grad() before backward(), or after step()",
            explains=("rate_too_low", "leftover_dropped", "step_without_backward", "backward_without_step"),
        )
