"""Gradients of past steps are used again: nothing zeroes them between step() and backward()."""

from vitruvius.checks import Findings, Step, Trace, exact_error, lines, training
from vitruvius.checks._patches import zero_after_step
from vitruvius.checks._places import uncalled

LESSON = "zero_grad"
HEALTHY = training(
    "x = torch.randn(8, 3)", "(net(x) - x.sum(1, keepdim=True)).square().mean().backward()  # here"
)
SICK = HEALTHY.replace("    optimizer.zero_grad()\n", "")


def zero_grad(trace: Trace) -> Findings:
    """A step whose gradients contain one that an earlier step has used already."""
    for steps in trace.grouped(trace.of(Step), "optimiser").values():
        stale = [event for event in steps if event.stale]
        if stale:
            first = stale[0]
            yield exact_error(
                where=uncalled(first.where, "zero_grad") or (first.where, *lines(first.waiting))[-1],
                also=(first.where, *lines(first.waiting)),
                evidence=f"in {len(stale)} of {len(steps)} steps, {first.stale} parameters of {first.name} "
                "still held the gradient of an earlier step",
                why="backward() adds to .grad; what is left from the last step is applied again and again",
                fix="call optimizer.zero_grad() before backward(), for every optimiser that steps",
                patch=zero_after_step(first.where),
                explains=("rate_too_high", "exploding", "accumulation_scale", "accumulation_norm"),
            )
