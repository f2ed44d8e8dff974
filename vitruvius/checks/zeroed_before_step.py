"""Gradients are zeroed between backward() and step(): the step has nothing to apply."""

from collections import Counter

from vitruvius.checks import (
    BATCH,
    Findings,
    GradientsDropped,
    Step,
    Trace,
    ZeroGrad,
    exact_error,
    lines,
    training,
)
from vitruvius.checks._patches import moved_behind, ordered_steps
from vitruvius.checks._steps import line

LESSON = "zero_grad"
SICK = training(BATCH, "optimizer.zero_grad()").replace("optimizer.step()", "optimizer.step()  # here")
HEALTHY = training()


def zeroed_before_step(trace: Trace) -> Findings:
    """A step whose gradients were computed and then cleared."""
    steps = trace.of(Step)
    yield from _only_the_last(trace, steps)
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
            patch=ordered_steps(first.where),
            explains=("rate_too_low", "leftover_dropped", "step_without_backward", "backward_without_step"),
        )


def _only_the_last(trace: Trace, steps: list[Step]) -> Findings:
    """Of several micro-batches for a step all but the last are zeroed: zero_grad() in every one."""
    for optimiser, own in trace.grouped((event for event in steps if event.waiting), "optimiser").items():
        line_of = {event.waiting[0].where for event in own}
        drops = [event for event in trace.of(GradientsDropped) if event.optimiser == optimiser]
        lost = [event for event in drops if set(event.lines) == line_of and len(event.lines) == 1]
        single = all(len(event.waiting) == 1 for event in own)
        # Every step loses the same number, whatever the skipped steps of a scaler may add at the beginning.
        between = Counter(event.step for event in lost)
        if len(own) > 1 and single and len(between) >= len(own) - 1 and len(set(between.values())) <= 2:
            each = max(between.values())
            yield exact_error(
                where=lost[0].where,
                also=lines([*own[:1], *lost]),
                evidence=f"{each + 1} backward passes at {line(own[0].waiting[0].where)} for each step, and "
                f"{len(lost)} times the gradients were zeroed in between: only the last micro-batch counts",
                why="gradients of micro-batches add up only if nothing zeroes them before the step",
                fix="zero_grad() once after each step, not in every micro-batch",
                patch=moved_behind(lost[0].where, own[0].where),
                explains=("leftover_dropped", "rate_too_low"),
            )
