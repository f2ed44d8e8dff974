"""A GradScaler is used by half: its scale stays in the gradients, or is divided out but never was in."""

from vitruvius.checks import Findings, ScalerFailed, Step, Trace, Waiting, exact_error, lines, training

HEALTHY = training(
    "scaler.scale(net(torch.randn(8, 3)).square().mean()).backward()",
    init='scaler = torch.amp.GradScaler("cpu")',
    optimiser="Adam(net.parameters(), lr=0.01)",
).replace("optimizer.step()", "scaler.step(optimizer)  # here\n    scaler.update()")
SICK = HEALTHY.replace("scaler.step(optimizer)", "optimizer.step()").replace("    scaler.update()\n", "")
SMALLEST = 16.0  # a smaller factor may weigh a term


def scaler_misused(trace: Trace) -> Findings:
    """Steps with gradients that are still scaled, and steps of a scaler for losses that it never scaled."""
    for failed in trace.of(ScalerFailed)[:1]:
        yield exact_error(
            where=failed.where,
            evidence=f"the GradScaler has refused this call: {failed.error}",
            why="for every step a scaler wants, once and in this order: scale(loss).backward(), perhaps "
            "unscale_(optimizer), step(optimizer), update()",
            fix="scaler.update() once after scaler.step(optimizer), unscale_() at most once between",
        )
        return
    steps = trace.of(Step)
    scaled = [event for event in steps if event.scaled > 1]
    if scaled:
        yield exact_error(
            where=scaled[0].where,
            also=lines(scaled),
            evidence=f"{len(scaled)} of {len(steps)} steps applied gradients that are still multiplied by "
            f"{scaled[0].scaled:g}",
            why="optimizer.step() does not know the scale of the loss: the step is that much too long, or, "
            "for Adam, non-finite gradients are not skipped",
            fix="scaler.step(optimizer) and scaler.update() instead of optimizer.step()",
            explains=("rate_too_high", "exploding", "non_finite"),
        )
    # A loss that was multiplied by hand is scaled too.
    bare = [event for event in steps if event.never_scaled and any(_is_bare(w) for w in event.waiting)]
    if bare:
        yield exact_error(
            where=bare[0].where,
            also=lines(bare),
            evidence=f"in {len(bare)} of {len(steps)} steps scaler.step() divided gradients by its scale "
            f"although {bare[0].never_scaled} of their backward passes began at a loss without it",
            why="the gradients become tens of thousands of times too small",
            fix="scaler.scale(loss).backward() for every loss",
            explains=("rate_too_low",),
        )


def _is_bare(waiting: Waiting) -> bool:
    return waiting.factor is None or waiting.factor < SMALLEST
