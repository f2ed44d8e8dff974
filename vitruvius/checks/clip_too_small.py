"""The limit of clipped gradients is so small that the weights do not move."""

from statistics import median

from vitruvius.checks import Clip, Finding, Findings, Step, Trace, lines, training
from vitruvius.checks._losses import losses

HEALTHY = training(
    "x = torch.randn(64, 3)",
    "F.mse_loss(net(x), x.sum(1, keepdim=True)).backward()",
    "nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # here",
    optimiser="SGD(net.parameters(), lr=0.1)",
    steps=40,
)
SICK = HEALTHY.replace("1.0)", "2e-4)")
TIMES, SHORTEST, REACH, LEAST, FEWEST, NOTHING = 50.0, 1e-4, 0.02, 0.25, 20, 1e-3


def clip_too_small(trace: Trace) -> Findings:
    """Nearly every gradient is cut to a small part, weights hardly move and the loss does not fall."""
    first, last = losses(trace)
    for line, clips in trace.grouped(trace.of(Clip), "where").items():
        cuts = [
            event.norm / event.limit for event in clips if event.norm and event.limit and not event.useless
        ]
        named = {key for event in clips for key in event.optimisers}
        steps = [event for event in trace.of(Step) if event.optimiser in named]
        moved = [median(event.update_ratios) for event in steps if event.update_ratios]
        made = sum(trace.made.get(key, 0) for key in named)
        if len(cuts) < 3 or len(moved) < 3 or made < FEWEST or not first:
            continue
        fell = median(first) - median(last) > LEAST * abs(median(first))
        still = median(moved) < SHORTEST and median(moved) * made < REACH
        nothing = median(moved) * made < NOTHING  # then a loss falls by chance only
        if (not fell or nothing) and still and sorted(cuts)[len(cuts) // 5] > TIMES:
            yield Finding(
                where=line,
                also=lines(steps),
                evidence=f"gradients of norm {median(cuts) * clips[0].limit:.3g} were cut to "
                f"{clips[0].limit:g}; a step changes the weights by {median(moved):.1e} of their size and "
                f"the loss went from {median(first):.4g} to {median(last):.4g}",
                why="with SGD the length of a step is the rate times the clipped norm",
                fix="a limit near the usual norm of the gradients, so that only the rare large ones are cut",
                explains=("rate_too_low",),
            )
