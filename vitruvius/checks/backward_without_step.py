"""Gradients are computed for an optimiser that never steps: its parameters do not learn."""

from vitruvius import checks
from vitruvius.checks import BATCH, Findings, OptimiserBuilt, Step, Trace, exact_error, lines, training
from vitruvius.checks._patches import step_after_backward
from vitruvius.checks._places import skipped_step, uncalled

HEALTHY = training(f"{BATCH}  # here")
SICK = HEALTHY.replace("    optimizer.step()\n", "")


def backward_without_step(trace: Trace) -> Findings:
    """An optimiser that was built, whose parameters get gradients, and whose step is never called."""
    stepped = {event.optimiser for event in trace.of(Step)}
    moved = {key for event in trace.of(Step) for key in event.parameters}
    backwards = trace.of(checks.Backward)
    for event in trace.of(OptimiserBuilt):
        known = [trace.parameters[key] for key in event.parameters if key not in moved]
        idle = [parameter for parameter in known if parameter.reached]
        still = not any(parameter.changed for parameter in known)
        if event.optimiser not in stepped and idle and still and len(backwards) > 2:
            zeroings = [zero for zero in trace.of(checks.ZeroGrad) if zero.optimiser == event.optimiser]
            reaching = [back for back, graph in trace.graphs() if graph.leaves & set(event.parameters)]
            line = (reaching or backwards)[0].where
            yield exact_error(
                where=uncalled(line, "step") or skipped_step(line, event.where) or line,
                also=(line, *lines([event, *zeroings])),
                evidence=f"{len(backwards)} backward passes, 0 steps of this {event.name}; "
                f"its {len(idle)} parameters kept their first values",
                why="backward() only computes gradients; the weights move in step()",
                fix="call its step() after backward()",
                patch=step_after_backward(line, event.where),
                explains=("leftover_dropped", "rate_too_low"),
            )
