"""How busy the machine is with other processes, before and while something is timed."""

import os
import time
from pathlib import Path

STAT = Path("/proc/stat")
IDLE = (3, 4)
"""Positions in the first line of /proc/stat: doing nothing, and waiting for a disk."""
COUNTED = 8
"""Its later numbers, those of guests, are contained in the first ones."""
BUSY = 0.5
"""Processes or cores of others from which on they take part of the time."""


class Others:
    """The cores that other processes use from now on."""

    def __init__(self, stat: Path = STAT) -> None:
        self.stat = stat
        self.start = self._now()

    def cores(self) -> float | None:
        """Return how many cores others have used on average; None where the system does not tell.

        A machine that shares its processor with other virtual ones loses time to them: that counts too.
        """
        now = self._now()
        if self.start is None or now is None:
            return None
        seconds, used, own = (after - before for after, before in zip(now, self.start, strict=True))
        return max(0.0, used - own) / seconds if seconds > 0 else None

    def _now(self) -> tuple[float, float, float] | None:
        """Return the time, and the processor seconds that all processes and this one have used so far."""
        try:
            ticks = [int(word) for word in self.stat.read_text().splitlines()[0].split()[1 : 1 + COUNTED]]
            if len(ticks) < COUNTED:
                return None
            used = sum(count for index, count in enumerate(ticks) if index not in IDLE)
            return time.monotonic(), used / os.sysconf("SC_CLK_TCK"), sum(os.times()[:4])
        except (AttributeError, OSError, ValueError, IndexError):  # not Linux
            return None


def average() -> float | None:
    """Return how many processes wanted to run in the last minute; None where the system does not tell."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):  # Windows
        return None


def is_busy(*loads: float | None) -> bool:
    """Return whether others take part of the machine.

    >>> is_busy(0.1, None), is_busy(0.1, 0.7)
    (False, True)
    """
    return any(load is not None and load >= BUSY for load in loads)
