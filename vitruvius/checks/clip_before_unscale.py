"""Gradients are clipped while they are still multiplied by the scale of a GradScaler."""

from vitruvius.checks import Clip, Findings, Trace, exact_error, lines, training

SCALED = "scaler.scale(net(torch.randn(8, 3)).square().mean()).backward()"
HEALTHY = training(
    SCALED,
    "scaler.unscale_(optimizer)",
    "nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # here",
    init='scaler = torch.amp.GradScaler("cpu")',
    optimiser="Adam(net.parameters(), lr=0.01)",
).replace("optimizer.step()", "scaler.step(optimizer)\n    scaler.update()")
SICK = HEALTHY.replace("    scaler.unscale_(optimizer)\n", "")
SMALL = 0.01  # a limit above this times the scale was scaled by hand


def clip_before_unscale(trace: Trace) -> Findings:
    """Clipping by a limit that is small against the scale that is still in the gradients."""
    early = [event for event in trace.of(Clip) if event.scaled > 1 and event.limit < SMALL * event.scaled]
    if early:
        first, total = early[0], len(trace.of(Clip))
        norm = f"norm {first.norm:.3g}, " if first.norm is not None else ""
        yield exact_error(
            where=first.where,
            also=lines(early),
            evidence=f"in {len(early)} of {total} calls of {first.name} the gradients were still multiplied "
            f"by {first.scaled:g} ({norm}limit {first.limit:g}): the limit is "
            f"{first.limit / first.scaled:.1e} for the true gradients",
            why="scaler.step() divides by the scale after clipping, so nearly nothing of each gradient is "
            "left",
            fix=f"scaler.unscale_(optimizer) before {first.name}()",
            explains=("rate_too_low", "clip_too_small", "vanishing"),
        )
