"""Losses at the beginning and at the end of a training."""

from collections import Counter

from vitruvius.checks import Backward, Trace


def losses(trace: Trace) -> tuple[list[float], list[float]]:
    """The first and the last tenth of the losses, at the line with most backward passes."""
    known = [(event.where, event.value) for event in trace.of(Backward) if event.value is not None]
    if len(known) < 2:
        return [], []
    line = Counter(where for where, _ in known).most_common(1)[0][0]
    values = [value for where, value in known if where == line]
    share = max(1, len(values) // 10)
    return values[:share], values[-share:]
