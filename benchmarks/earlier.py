"""The reference run on MNIST beside the same run of an earlier commit: seconds and accuracy of both.

    python -m benchmarks.earlier                 ten epochs of each, half an hour on two idle cores
    python -m benchmarks.earlier --seed 1 --epochs 3 --earlier COMMIT
    python -m benchmarks.earlier --quick         small networks, writes and judges nothing

Both are `vitruvius train` from files of their commits, so changes that are not committed have no part. They
take turns of ten seconds, in which the other is stopped, so that a change of the machine meets both. The
seconds of a run are those of its turns: start, compiling, evaluation, the final test and the report are
included. Neither finds what the other, or an earlier day, has compiled.

Fails if the present code takes more than 0.55 of the time of the earlier one."""

import argparse
import io
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks import record
from vitruvius.core import files
from vitruvius.core.errors import UserError

ROOT = Path(__file__).parents[1]
BEFORE_FOLDING = "f38a9dc^"
"""The last commit whose attention with wide heads did not multiply its projections first."""
TURN = 10.0
ASKED = 0.55
QUICK = ("--arch", "mnist-slim", "--set", "depth=1", "--steps", "20", "--compile", "off")


def take_turn(process: subprocess.Popen[bytes], seconds: float) -> float:
    """Let a process and its children go on for so long, or to their end; return the seconds they had."""
    started = time.perf_counter()
    os.killpg(process.pid, signal.SIGCONT)
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGSTOP)
    return time.perf_counter() - started


def in_turns(processes: dict[str, subprocess.Popen[bytes]], seconds: float) -> dict[str, float]:
    """Let processes take turns until all have ended; return the seconds of each."""
    spent = dict.fromkeys(processes, 0.0)
    try:
        for process in processes.values():
            os.killpg(process.pid, signal.SIGSTOP)
        while running := [name for name, process in processes.items() if process.poll() is None]:
            for name in running:
                spent[name] += take_turn(processes[name], seconds)
    finally:
        for process in processes.values():
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return spent


def checkout(commit: str, folder: Path) -> str:
    """Write the files of a commit into a folder; return its short name."""
    packed = _git("archive", "--format=tar", commit)
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return _git("rev-parse", "--short", commit).decode().strip()


def started(code: Path, runs: Path, words: list[str]) -> subprocess.Popen[bytes]:
    """Start a training by the code of a folder, with a cache of compiled code of its own."""
    command = [sys.executable, "-m", "vitruvius", "train", *words, "--name", "net", "--runs", str(runs)]
    place = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(runs / "compiled")}
    with (runs / "output.txt").open("wb") as output:
        return subprocess.Popen(
            command, cwd=code, env=place, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )


def measure(commits: dict[str, str], words: list[str]) -> dict[str, Any]:
    """Train by both commits, in turns; return names of the commits, seconds, accuracies and the ratio."""
    row: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary:
        processes, runs = {}, {name: Path(temporary) / name / "runs" for name in commits}
        for name, commit in commits.items():
            runs[name].mkdir(parents=True)
            row[name] = checkout(commit, runs[name].parent)
            processes[name] = started(runs[name].parent, runs[name], words)
        spent = in_turns(processes, TURN)
        for name, process in processes.items():
            if process.returncode:
                raise SystemExit(f"{row[name]}: {(runs[name] / 'output.txt').read_text()}")
            result = files.read_json(runs[name] / "train" / "net" / "result.json")
            row |= {f"{name}_seconds": round(spent[name], 1), f"{name}_accuracy": result["test_accuracy"]}
    return row | {"ratio": round(spent["now"] / spent["earlier"], 3)}


def main() -> None:
    """Measure, print, write, judge."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--earlier", default=BEFORE_FOLDING, metavar="COMMIT")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="small networks, nothing written or judged")
    options = parser.parse_args()
    commits = {"earlier": "HEAD" if options.quick else options.earlier, "now": "HEAD"}
    if options.quick:
        print(measure(commits, [*QUICK, "--seed", str(options.seed)]))
        return
    try:
        load = record.refuse_if_busy()
    except UserError as error:
        raise SystemExit(str(error)) from None
    asked = {"epochs": options.epochs, "seed": options.seed}
    row = asked | measure(commits, ["--epochs", str(options.epochs), "--seed", str(options.seed)])
    print(row)
    path = record.RESULTS / "earlier.json"
    known = files.read_json(path)["rows"] if path.exists() else []
    print(record.write("earlier", [*known, row | {"load": load, **record.today()}]))
    if row["ratio"] > ASKED:
        raise SystemExit(f"{row['ratio']} of the earlier time, not {ASKED}")


def _git(*words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout


if __name__ == "__main__":
    main()
