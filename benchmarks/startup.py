"""CPU-seconds of each verb's help and of the listings: what a person waits for before any work begins.

Each command runs once before it is measured, so that Python has its bytecode, as after an installation.

    python -m benchmarks.startup            five runs of each command, writes results/startup.json
    python -m benchmarks.startup --quick    one run of each on any machine, writes nothing

Fails if a command takes more than the goal in its best run.
"""

import os
import resource
import subprocess
import sys
from typing import Any

from benchmarks import record
from vitruvius.core import plugins

GOAL = 0.2
"""CPU-seconds, best of five."""
LISTINGS: tuple[list[str], ...] = ([], ["--help"], ["list"], ["list", "presets"], ["explain"])


def commands() -> list[list[str]]:
    """Help of every verb, those in folders (`doctor run`) included, and the listings."""
    found = list(LISTINGS)
    for name, member in plugins.members("verbs").items():
        inner = (
            [[sub] for sub in plugins.members(f"verbs/{name}")] if member.path.stem == "__init__" else [[]]
        )
        found += [[name, *sub, "--help"] for sub in inner]
    return found


def seconds(words: list[str]) -> float:
    """CPU-seconds of one command, its own and the system's."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "vitruvius", *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Measure, print, record."""
    quick = "--quick" in sys.argv[1:]
    load = None if quick else record.refuse_if_busy()
    print(record.machine())
    rows: list[dict[str, Any]] = []
    for words in commands():
        seconds(words)
        best = min(seconds(words) for _ in range(1 if quick else 5))
        rows.append({"command": " ".join(["vitruvius", *words]), "cpu_seconds": round(best, 3)})
        print(f"{best:6.3f} CPU-s  {rows[-1]['command']}", flush=True)
    if quick:
        return 0
    print(record.write("startup", rows, load=load, goal=GOAL))
    return int(max(row["cpu_seconds"] for row in rows) > GOAL)


if __name__ == "__main__":
    sys.exit(main())
