"""Kills workers of rankings that are spread over processes or Ray; their ends must be that of a serial one.

`python -m tests.campaigns.killing_workers processes|ray KILLS SEED` prints one JSON line: the fingerprint of
the serial ranking, that of each disturbed one, and how many workers were killed. One fork server, or one Ray,
serves all rankings.
"""

import json
import os
import random
import signal
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import torch

from tests.campaigns import killing_rank
from tests.searching.conftest import TOY
from vitruvius.core.errors import VitruviusError
from vitruvius.ranking import spread as spreading

MOST_TRIES = 3
"""Rankings per kill that is asked for; a ranking may end before a worker is found."""
LONGEST = 0.3
"""Seconds that pass at most between the first sight of a worker and its death."""


def main(spread: str, kills: int, seed: int) -> None:
    """Rank once serially, then disturbed until there were so many kills."""
    torch.set_num_threads(1)
    ends: list[str] = []
    killed = 0
    if spread == "ray":
        ray = spreading.require("ray")
        quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "error"}
        ray.init(num_cpus=2, object_store_memory=2**27, **quiet)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "toy.py").write_text(TOY)
        killing_rank.once(place, place / "serial", "here", 0)
        whole = killing_rank.fingerprint(place / "serial")
        for number in range(MOST_TRIES * kills):
            if killed >= kills:
                break
            killer = Killer(ray_workers if spread == "ray" else forked_workers, random.Random(seed + number))
            killer.start()
            ends.append(_ranked(place, place / str(number), spread))
            killer.ended.set()
            killer.join()
            killed += killer.kills
    print(json.dumps({"whole": whole, "ends": ends, "kills": killed}))


def _ranked(place: Path, runs: Path, spread: str) -> str:
    try:
        killing_rank.once(place, runs, spread, 2)
        return killing_rank.fingerprint(runs)
    except VitruviusError as error:
        return f"failed: {error}"


class Killer(threading.Thread):
    """Waits until this process has workers, waits a little longer, and kills one of them."""

    def __init__(self, workers: Callable[[int], list[int]], source: random.Random) -> None:
        super().__init__(daemon=True)
        self.workers, self.source = workers, source
        self.ended, self.kills = threading.Event(), 0

    def run(self) -> None:
        while not self.workers(os.getpid()):
            if self.ended.wait(0.005):
                return
        self.ended.wait(LONGEST * self.source.random())
        if found := self.workers(os.getpid()):
            with suppress(ProcessLookupError):
                os.kill(self.source.choice(found), signal.SIGKILL)
                self.kills += 1


def forked_workers(parent: int) -> list[int]:
    """Return the processes that the fork server of a process has forked."""
    return [worker for server in children(parent) for worker in children(server)]


def ray_workers(parent: int) -> list[int]:
    """Return the actors of the Ray that a process has started."""
    found = children(parent)
    for one in found:
        found += children(one)  # the list grows while it is walked: all descendants
    return [one for one in found if b"ray::Actor" in _words(one)]


def children(parent: int) -> list[int]:
    """Return the processes that a process has started."""
    found: list[int] = []
    for task in Path(f"/proc/{parent}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, task.read_text().split())
    return found


def _words(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
