"""Kills a tiny search at random instants, resumes it, and compares its end with that of an undisturbed one.

Run as a program of its own: it imports torch once, computes with one thread, and forks every search from
there. Prints one JSON line: the fingerprint of the undisturbed search, that of each killed one, and how many
kills there were. `--forget` plants a fault that the comparison must find.
"""

import argparse
import hashlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from tests.searching.conftest import SETTINGS, SPACE, TOY
from vitruvius.core import files
from vitruvius.core.config import Flags
from vitruvius.render import figures
from vitruvius.searching import trials
from vitruvius.searching.settings import Config
from vitruvius.verbs import search

PLACE = os.environ.get("PYTEST_DEBUG_TEMPROOT")  # in memory where there is room, as tests/conftest.py says


def once(place: Path, runs: Path, spread: str, workers: int) -> None:
    """Start or continue the search and go on to its end."""
    if (runs / "search" / "toy" / "config.json").exists():
        config, flags = Config(spread=spread, workers=workers), Flags(runs=str(runs), resume="toy")
    else:
        given: dict[str, Any] = {
            "data": f"{place / 'toy.py'}:toy",
            "space": str(place / "space.json"),
            **SETTINGS,
        }
        config = Config(**given, trainings=5, spread=spread, workers=workers)
        flags = Flags(runs=str(runs), name="toy")
    for _ in search.run(config, flags):
        pass


def fingerprint(runs: Path) -> str:
    """The SHA-256 of what was found and of the winner's weights, timing and places aside."""
    result = files.read_json(runs / "search" / "toy" / "result.json")
    for key in ("run", "search", "config"):
        del result[key]
    result["spent"]["seconds"] = 0
    weights = files.sha256(runs / "train" / "toy" / "model.safetensors")
    return hashlib.sha256(json.dumps([result, weights]).encode()).hexdigest()


def forked(work: Any) -> int:
    """Run `work` in a forked child that has a process group of its own; return its process id."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        os.setpgid(0, 0)
        work()
        code = 0
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    finally:
        os._exit(code)


def forget() -> None:
    """The planted fault: a resumed search trains its networks with other seeds."""
    original = trials.train

    def other(shared: Any, task: Any) -> Any:
        return original(shared, task._replace(seed=task.seed + 1))

    trials.train = other


def killed(
    place: Path, longest: float, source: random.Random, options: argparse.Namespace
) -> tuple[str, int]:
    """Kill a search three times at random instants and let it end; return its fingerprint and the kills."""
    kills = 0
    with tempfile.TemporaryDirectory(dir=PLACE) as folder:
        runs = Path(folder)
        for attempt in range(10):

            def work(attempt: int = attempt) -> None:
                if options.forget and attempt:
                    forget()
                once(place, runs, options.spread, options.workers)

            child, status = forked(work), None
            if kills < 3:
                time.sleep(longest * source.random())
                ended, status = os.waitpid(child, os.WNOHANG)
                if not ended:
                    os.kill(child, signal.SIGKILL)
                    kills += 1
                    status = None
            if status is None:
                status = os.waitpid(child, 0)[1]
            if status == 0:
                return fingerprint(runs), kills
    return "never finished", kills


def main() -> None:
    """Print the undisturbed end and the ends of killed searches."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--spread", default="here")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--forget", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    # Drawing takes most of the time; the files are written as before.
    figures.write_png = lambda figure, path: files.write(path, b"")
    figures.svg = lambda figure, prefix="": "<svg></svg>"
    source, ends, kills = random.Random(options.seed), [], 0
    with tempfile.TemporaryDirectory(dir=PLACE) as folder:
        place = Path(folder)
        (place / "toy.py").write_text(TOY)
        (place / "space.json").write_text(json.dumps(SPACE))
        once(place, place / "runs", options.spread, options.workers)
        whole, began = fingerprint(place / "runs"), time.monotonic()
        once(place, place / "again", options.spread, options.workers)  # everything is imported by now
        longest = time.monotonic() - began
        while kills < options.kills:
            end, more = killed(place, longest, source, options)
            ends.append(end)
            kills += more
    print(json.dumps({"whole": whole, "ends": ends, "kills": kills}))


if __name__ == "__main__":
    main()
