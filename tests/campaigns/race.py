"""Let 20 processes race for one run folder, new and resumed: exactly one of them gets it.

Then kill workers of rankings that are spread over processes or Ray: each ends as a serial one does.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from tests.campaigns import Tally
from vitruvius.core import runs
from vitruvius.core.config import Flags
from vitruvius.core.errors import UserError
from vitruvius.ranking.settings import Config

FULL, SMALL = 50, 3
RACERS = 20
WON, REFUSED, BROKEN = 10, 11, 12


def run(rounds: int, first: int = 0) -> Tally:
    """Race so many times for a new name and to resume one run; kill so many workers of rankings."""
    tally = Tally(planted="a folder without a lock")
    for phase in ("a new --name", "--resume"):
        for _ in range(rounds):
            codes = race(phase == "--resume")
            if has_one_winner(codes):
                tally.count(phase, "one winner")
            else:
                tally.fail(phase, "not one winner", f"{codes.count(WON)} won, {codes.count(REFUSED)} refused")
    for spread in ("processes", "ray"):
        _kill_workers(tally, spread, rounds, first)
    with _unlocked():
        # Without a lock racers also remove what others are writing and break: perhaps only one wins.
        tally.is_caught = not has_one_winner(race(False))
    return tally


def has_one_winner(codes: list[int]) -> bool:
    """Return whether one racer got the folder and every other was refused with a sentence."""
    return codes.count(WON) == 1 and codes.count(REFUSED) == RACERS - 1


@contextmanager
def _unlocked() -> Iterator[None]:
    """Plant the fault: nobody locks a folder, or looks whether it is taken."""
    names = ("_locked", "_refuse_run", "_refuse_used")
    kept = {name: vars(runs)[name] for name in names}
    vars(runs).update(dict.fromkeys(names, lambda folder: nullcontext()))
    try:
        yield
    finally:
        vars(runs).update(kept)


def _kill_workers(tally: Tally, spread: str, kills: int, seed: int) -> None:
    """Kill workers of rankings until there were so many kills; every ranking must end as the serial one."""
    command = [sys.executable, "-m", "tests.campaigns.killing_workers", spread, str(kills), str(seed)]
    done, phase = subprocess.run(command, capture_output=True, text=True), f"workers killed, {spread}"
    if done.returncode:
        tally.fail(phase, "failed", done.stderr[-300:])
        return
    found = json.loads(done.stdout.splitlines()[-1])
    tally.count(phase, "kills", found["kills"])
    for end in found["ends"]:
        if end == found["whole"]:
            tally.count(phase, "the ranking of a serial run")
        else:
            tally.fail(phase, "another ranking", f"{end[:12]}, not {found['whole'][:12]}")


def race(resumed: bool) -> list[int]:
    """Start all racers behind one gate; the one that gets the folder holds it until all have tried."""
    with tempfile.TemporaryDirectory() as folder:
        flags = Flags(runs=folder, name="one")
        if resumed:
            with runs.opened("rank", Config(), flags):
                pass
            flags = Flags(runs=folder, resume="one")
        gate, open_gate = os.pipe()
        tried, trying = os.pipe()
        children = [_child(lambda: _try(flags, gate, open_gate, trying, Path(folder))) for _ in range(RACERS)]
        os.close(gate)
        os.close(open_gate)
        os.close(trying)
        seen = 0
        while seen < RACERS and (got := os.read(tried, RACERS)):
            seen += len(got)
        os.close(tried)
        (Path(folder) / "over").touch()
        return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def _try(flags: Flags, gate: int, open_gate: int, trying: int, folder: Path) -> int:
    os.close(open_gate)
    os.read(gate, 1)  # returns when the last process that holds the other end has closed it
    try:
        with runs.opened("rank", Config(), flags):
            os.write(trying, b".")
            while not (folder / "over").exists():
                time.sleep(0.002)
            return WON
    except BaseException as error:  # whatever it is, the one that holds the folder waits for this sign
        os.write(trying, b".")
        return REFUSED if isinstance(error, UserError) else BROKEN


def _child(work: Callable[[], Any]) -> int:
    child = os.fork()
    if child:
        return child
    code = BROKEN
    try:
        code = work()
    finally:
        os._exit(code)
