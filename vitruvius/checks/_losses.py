"""Losses at the beginning and at the end of a training."""

from collections import Counter

from vitruvius.checks import Trace


def losses(trace: Trace) -> tuple[list[float], list[float]]:
    """The first and the last losses at the line that is most often gone back from."""
    backwards = [event for event in trace.of("backward") if event["value"] is not None]
    if len(backwards) < 2:
        return [], []
    line = Counter(event.where for event in backwards).most_common(1)[0][0]
    values = [event["value"] for event in backwards if event.where == line]
    share = max(1, len(values) // 10)
    return values[:share], values[-share:]
