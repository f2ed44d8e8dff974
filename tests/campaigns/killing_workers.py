"""Kills workers of rankings that are spread over processes; their ends must be that of a serial one.

`python -m tests.campaigns.killing_workers KILLS` prints one JSON line: the fingerprint of the serial ranking,
that of each disturbed one, and how many workers were killed.
"""

import json
import os
import random
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import torch

from tests.campaigns import killing_rank
from tests.searching import killing
from tests.searching.conftest import TOY

MOST_TRIES = 3
"""Rankings per kill that is asked for; a ranking may end before a worker is found."""


def main(kills: int) -> None:
    """Rank once serially, then disturbed until there were so many kills."""
    torch.set_num_threads(1)
    source, ends, killed = random.Random(0), [], 0
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "toy.py").write_text(TOY)
        killing_rank.once(place, place / "serial", "here", 0)
        whole = killing_rank.fingerprint(place / "serial")
        for number in range(MOST_TRIES * kills):
            if killed >= kills:
                break
            runs = place / str(number)
            # A process of its own has a server of its own, whose workers are told from those of others.
            child = killing.forked(lambda runs=runs: killing_rank.once(place, runs, "processes", 2))
            killed += disturb(child, source)
            status = os.waitpid(child, 0)[1]
            ends.append(killing_rank.fingerprint(runs) if status == 0 else "failed")
    print(json.dumps({"whole": whole, "ends": ends, "kills": killed}))


def disturb(parent: int, source: random.Random) -> int:
    """Wait until a process has workers, wait a little longer, and kill one of them; return the kills."""
    while not (found := workers(parent)):
        if os.waitid(os.P_PID, parent, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return 0
        time.sleep(0.005)
    time.sleep(0.3 * source.random())
    found = workers(parent) or found
    with suppress(ProcessLookupError):
        os.kill(source.choice(found), signal.SIGKILL)
        return 1
    return 0


def workers(parent: int) -> list[int]:
    """Return the processes that the fork server of a process has forked."""
    return [worker for server in children(parent) for worker in children(server)]


def children(parent: int) -> list[int]:
    """Return the processes that a process has started."""
    found: list[int] = []
    for task in Path(f"/proc/{parent}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, task.read_text().split())
    return found


if __name__ == "__main__":
    main(int(sys.argv[1]))
