"""How long a computation takes on this machine, for notes about costs."""

import time
from collections.abc import Callable
from typing import Any

REPEATS = 3
LARGEST = 4_000_000  # numbers; nothing larger is computed only to be timed


def milliseconds(compute: Callable[[], Any]) -> float:
    """Milliseconds that a computation takes: the shortest of a few runs."""
    compute()
    taken = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        compute()
        taken.append(1000 * (time.perf_counter() - started))
    return min(taken)
