"""An optimiser steps although no backward pass came since its last step: the same gradients twice."""

from vitruvius.checks import Findings, Step, Trace, exact_error, lines, training

HEALTHY = training()
SICK = HEALTHY + "    optimizer.step()  # here\n"


def step_without_backward(trace: Trace) -> Findings:
    """Steps that find the gradients of the step before, or none at all."""
    steps = trace.of(Step)
    again = [event for event in steps if event.repeated]
    if len(again) > 1:  # one empty step before training is a known way to prepare a scheduler
        yield exact_error(
            where=again[0].where,
            also=lines(again),
            evidence=f"{len(again)} of {len(steps)} steps came without a new gradient",
            why="a step without backward() moves the weights by old gradients, or not at all",
            fix="call step() once for each backward(), or once for each group of accumulated ones",
            explains=("rate_too_high", "rate_too_low"),
        )
