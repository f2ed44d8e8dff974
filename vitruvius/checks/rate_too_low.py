"""The learning rate is far too low: steps do not change the weights and the loss does not move."""

from statistics import median

from vitruvius.checks import Finding, Findings, OptimiserBuilt, Step, Trace, lines, training
from vitruvius.checks._losses import loss_scale, losses
from vitruvius.checks._places import rate_line

SICK = training(
    "x = torch.randn(8, 3)",
    "F.mse_loss(net(x), x[:, :1]).backward()",
    optimiser="SGD(net.parameters(), lr=1e-8)  # here",
    steps=30,
)
HEALTHY = SICK.replace("lr=1e-8", "lr=0.03")
SHORTEST, REACH, LEAST, FEWEST = 1e-5, 2e-3, 0.25, 20


def rate_too_low(trace: Trace) -> Findings:
    """All updates together are small relative to the weights, and the loss stays."""
    steps = [event for event in trace.of(Step) if event.update_ratios and not event.cleared]
    moved = [median(event.update_ratios) for event in steps if event.update_ratios]
    first, last = losses(trace)
    if not first or trace.steps < FEWEST or len(moved) < 3:
        return
    fell = median(first) - median(last) > LEAST * abs(median(first))
    if fell or max(moved) > SHORTEST or median(moved) * trace.steps > REACH:
        return
    guilty, scale = max(steps, key=lambda event: event.lr), loss_scale(trace)
    rate = guilty.lr
    fix = "a rate a thousand times larger, then halve it while the loss jumps"
    if scale > 1:
        fix = "scaler.unscale_(optimizer) before gradients are clipped; if nothing is clipped, a larger rate"
    yield Finding(
        where=rate_line(trace, guilty),
        also=(guilty.where, *lines(trace.of(OptimiserBuilt))),
        evidence=f"rate {rate:g}: a step changes the weights by {median(moved):.1e} of their size; "
        f"the loss went from {median(first) / scale:.4g} to {median(last) / scale:.4g} in {trace.steps} steps"
        + (f"; backward() got it times {scale:g}, and gradients are scaled likewise" if scale > 1 else ""),
        why="a useful step is about a thousandth of the weights; in float32 nothing below 1e-7 is even "
        "stored",
        fix=fix,
        explains=("shuffled_labels",),
    )
