"""An optimiser steps although no backward pass came since its last step: the same gradients twice."""

from vitruvius.checks import Findings, Step, Trace, exact_error, lines, training
from vitruvius.checks._patches import removed
from vitruvius.checks._places import uncalled
from vitruvius.core.patch import Patch

HEALTHY = training()
SICK = HEALTHY + "    optimizer.step()  # here\n"


def step_without_backward(trace: Trace) -> Findings:
    """Steps that find the gradients of the step before, or none at all."""
    steps = trace.of(Step)
    again = [event for event in steps if event.repeated]
    if len(again) > 1:  # one empty step before training is a known way to prepare a scheduler
        yield exact_error(
            where=uncalled(again[0].where, "backward") or again[0].where,
            also=lines(again),
            evidence=f"{len(again)} of {len(steps)} steps came without a new gradient",
            why="a step without backward() moves the weights by old gradients, or not at all",
            fix="call step() once for each backward(), or once for each group of accumulated ones",
            patch=_patch(steps, again[0]),
            explains=("rate_too_high", "rate_too_low"),
        )


def _patch(steps: list[Step], again: Step) -> Patch | None:
    """Remove a line that never finds a new gradient, if its optimiser steps elsewhere and rightly."""
    own = [event for event in steps if event.optimiser == again.optimiser]
    here = all(event.repeated for event in own if event.where == again.where)
    others = [event.repeated for event in own if event.where != again.where]
    return removed(again.where) if here and others and not any(others) else None
