"""Losses at the beginning and at the end of a training."""

from collections import Counter
from math import log2
from statistics import median

from vitruvius.checks import Backward, Criterion, Trace

SMALLEST = 16.0  # a smaller factor may weigh a term
FALLEN, FEWEST = 0.5, 20  # a loss that has halved after so many backward passes has fallen


def all_losses(trace: Trace) -> list[float]:
    """The losses at the line with most backward passes; none if there was only one pass."""
    known = [(event.where, event.value) for event in trace.of(Backward) if event.value is not None]
    if len(known) < 2:
        return []
    line = Counter(where for where, _ in known).most_common(1)[0][0]
    return [value for where, value in known if where == line]


def losses(trace: Trace) -> tuple[list[float], list[float]]:
    """The first and the last tenth of the losses, at the line with most backward passes."""
    values = all_losses(trace)
    share = max(1, len(values) // 10)
    return values[:share], values[-share:]


def has_fallen(trace: Trace) -> bool:
    """Whether the loss has halved, so that what looks odd has done no harm."""
    first, last = losses(trace)
    passes = len(trace.of(Backward))  # not steps: updates may be written by hand
    return len(first) > 0 and passes >= FEWEST and median(last) < FALLEN * median(first)


def loss_scale(trace: Trace) -> float:
    """By how much losses are multiplied before backward(), as by torch.amp.GradScaler; 1 if they are not."""
    ratios, value = [], None
    for event in trace.of(Criterion, Backward):
        if isinstance(event, Criterion):
            value = event.value
        elif isinstance(event, Backward) and event.value and value:
            ratios.append(event.value / value)
    powers = [ratio for ratio in ratios if ratio >= SMALLEST and log2(ratio) == round(log2(ratio))]
    return median(powers) if powers and 2 * len(powers) > len(ratios) else 1.0
