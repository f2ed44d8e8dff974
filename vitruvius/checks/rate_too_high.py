"""The learning rate is far too high: steps as long as the weights, or a loss that grows."""

from statistics import median

from vitruvius.checks import Backward, Finding, Findings, OptimiserBuilt, Step, Trace, lines, training
from vitruvius.checks._losses import all_losses, losses
from vitruvius.checks._places import rate_line

SICK = training(
    "x = torch.randn(8, 3)",
    "F.mse_loss(net(x), x[:, :1]).backward()",
    optimiser="SGD(net.parameters(), lr=3.0)  # here",
    steps=12,
)
HEALTHY = SICK.replace("lr=3.0", "lr=0.03")
LONGEST, GROWTH, STAYS, EARLY, STEADY = 0.3, 10.0, 3.0, 3, 20


def rate_too_high(trace: Trace) -> Findings:
    """Median update relative to the weights after two steps, and the last losses against the first."""
    steps = [event for event in trace.of(Step) if event.lr > 0]
    updates = [(event.step, median(event.update_ratios)) for event in steps if event.update_ratios]
    moved = [size for step, size in updates if step >= 2]
    leaps = [size for step, size in updates if step < EARLY]
    first, last = losses(trace)
    start = max(first[0], 1e-3) if first else 0.0
    grew = bool(first) and max(first + last) > GROWTH * start and median(last) > max(1.0, STAYS * start)
    long = bool(moved) and median(moved[:3]) > LONGEST and bool(first) and median(last) > 0.9 * first[0]
    leapt = bool(leaps) and median(leaps) > LONGEST
    thrown = bool(first) and leapt and (_jumped(first, last, max(leaps)) or _died(trace))
    # A warm-up reaches its peak late: what was learnt until then is lost.
    learnt = bool(first) and _lowest(all_losses(trace)) < first[0] / STAYS
    lost = learnt and median(last) > 0.9 * first[0] and _died(trace)
    by_hand = not trace.of(Step) and not trace.of(OptimiserBuilt)
    if by_hand and grew:
        yield from _by_hand(trace, first, last)
    if not steps or not (grew or long or thrown or lost):
        return
    guilty = max(steps, key=lambda event: event.lr)
    rate = guilty.lr
    ratio = f"; a step is {median(moved[:3]):.2g} of the weights" if moved else ""
    height = f" over {max(first):.3g}" if max(first) > STAYS * start else ""
    growth = f"the loss went from {first[0]:.3g}{height} to {median(last):.3g}"
    yield Finding(
        where=rate_line(trace, guilty),
        also=(guilty.where, *lines(trace.of(OptimiserBuilt))),
        evidence=f"rate {rate:g}: {growth}{ratio}",
        why="a step that overshoots makes the loss larger, and the next gradient with it",
        fix=f"a rate of {rate / 30:.0e} or less; warm-up and clipping help only if it is nearly right",
        explains=("non_finite", "dead_relu", "saturated", "same_order", "positions_ignored"),
    )


def _by_hand(trace: Trace, first: list[float], last: list[float]) -> Findings:
    """Weights that the user's own code moves, by an unknown rate."""
    yield Finding(
        where=trace.of(Backward)[0].where,
        also=lines(trace.forwards()[:1]),
        evidence=f"the loss went from {first[0]:.3g} to {median(last):.3g}; weights are moved by hand",
        why="a step that overshoots makes the loss larger, and the next gradient with it",
        fix="a rate of a thirtieth or less; subtract the gradient, do not add it",
        explains=("non_finite", "dead_relu", "saturated", "same_order"),
    )


def _jumped(first: list[float], last: list[float], leap: float) -> bool:
    """Whether the loss jumped up at the beginning and has not fallen to half of its first value.

    After a step longer than the weights it is enough that it has not fallen below the best of the first
    losses.
    """
    height, end = max(first) / max(first[0], 1e-3), median(last) / max(first[0], 1e-3)
    learnt_nothing = leap > 1 and median(last) > 0.8 * min(first)
    return (height > GROWTH and (end > 0.5 or learnt_nothing)) or (height > STAYS and end > 0.9)


def _lowest(values: list[float]) -> float:
    """The lowest median of so many losses in a row that a few easy batches do not count."""
    return min(median(values[at : at + STEADY]) for at in range(max(1, len(values) - STEADY + 1)))


def _died(trace: Trace) -> bool:
    """Whether ReLUs that worked in the first pass are nearly all dead in the last."""
    shares = [max(units.share for units in graph.dead) for _, graph in trace.graphs() if graph.dead]
    return len(shares) > 2 and shares[0] < 0.5 and shares[-1] > 0.9
