"""Kills a short training at chosen moments, resumes it, and says whether the end is the same to the bit.

Run as a program of its own: it imports torch once, computes with one thread, and forks every training from
there. Its words are experiments, with ":on" compiled:

    kills=20            kill runs, altogether 20 times, and resume them
    forget=rng          the same, with a part of the restored state forgotten, until this is noticed
    writer=atomic       die in every write of a run in turn, and resume it; or writer="in place"

Prints one JSON line: of each experiment the fingerprint of an uninterrupted run, that of each killed one, and
the phases of the kills.
"""

import argparse
import contextlib
import hashlib
import json
import mmap
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from vitruvius.core import files
from vitruvius.core.config import Flags
from vitruvius.datasets import Dataset, Split
from vitruvius.render import figures
from vitruvius.training import checkpoint, loop
from vitruvius.verbs import train

PLACE = os.environ.get("PYTEST_DEBUG_TEMPROOT")  # in memory where there is room, as tests/conftest.py says
PHASES = ("load", "step", "checkpoint", "evaluation")
HERE = f"{__file__}:toy"
MARK = mmap.mmap(-1, 1)  # shared with the forked child, which writes the phase it is in


def toy(data_dir: str | None = None, validation: int | None = None, seed: int = 0) -> Dataset:
    """Bright left halves against bright right halves: 70 images, so that a batch of 16 leaves 6 over."""
    source = torch.Generator().manual_seed(5)
    y = torch.arange(110) % 2
    x = torch.randint(0, 120, (110, 1, 8, 8), generator=source, dtype=torch.uint8)
    x[y == 0, :, :, :4] += 100
    x[y == 1, :, :, 4:] += 100
    first, second, third = (Split(x[a:b], y[a:b]) for a, b in ((0, 70), (70, 90), (90, 110)))
    return Dataset(
        "toy", first, second, third, classes=("left", "right"), mean=(0.4,), std=(0.2,), sha256="toy"
    )


def config(compile: str) -> train.Config:
    """A run with everything that could break a resume."""
    return train.Config(
        data=HERE,
        set=("patch=4", "width=8", "depth=1", "heads=2", "mlp=8", "head_dim=4", "dropout=0.1"),
        epochs=2,
        # A batch of 16 leaves 6 images over; compiled, all are of one size: another compiles for seconds.
        batch=14 if compile == "on" else 16,
        accumulate=1 if compile == "on" else 2,
        warmup=3,
        shift=1,
        checkpoint=2,
        threads=1,
        compile=compile,
    )


def once(root: Path, compile: str) -> None:
    """Start or continue the run and go on to its end."""
    started = (root / "train" / "toy" / "config.json").exists()
    flags = Flags(runs=str(root), resume="toy") if started else Flags(runs=str(root), name="toy")
    for _ in train.run(train.Config() if started else config(compile), flags):
        pass


def fingerprint(root: Path) -> str:
    """The SHA-256 of weights, records and result, timing aside."""
    folder = root / "train" / "toy"
    records = [{**line, "timing": None} for line in files.read_lines(folder / "records.jsonl")]
    result = {**files.read_json(folder / "result.json"), "seconds": 0, "images_per_second": 0, "run": ""}
    content = json.dumps([files.sha256(folder / "model.safetensors"), records, result])
    return hashlib.sha256(content.encode()).hexdigest()


def forked(work: Callable[[], None]) -> int:
    """Run `work` in a forked child and return its process id."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    finally:
        os._exit(code)


@contextlib.contextmanager
def marked() -> Iterator[None]:
    """Inside, the shared byte says which phase the training is in."""

    def mark(phase: str, module: Any, name: str) -> None:
        original = getattr(module, name)

        def wrapped(*arguments: Any, **options: Any) -> Any:
            before, MARK[0] = MARK[0], PHASES.index(phase)
            time.sleep(0.003)  # wide enough for the other process to see it
            try:
                return original(*arguments, **options)
            finally:
                MARK[0] = before

        setattr(module, name, wrapped)

    MARK[0] = PHASES.index("load")
    mark("step", loop, "step")
    mark("checkpoint", checkpoint, "write")
    mark("evaluation", loop, "evaluate")
    yield


def killed_run(
    phase: str, most: int, source: random.Random, compile: str, sabotage: Callable[[], None]
) -> tuple[str, list[str]]:
    """Kill a run so often at most, first in the given phase, then anywhere; resume it to its end."""
    kills: list[str] = []

    def child() -> None:
        sabotage()
        with marked():
            once(root, compile)

    with tempfile.TemporaryDirectory(dir=PLACE) as folder:
        root = Path(folder)
        for attempt in range(50):
            wanted = phase if not kills else source.choice(PHASES)
            patience = 4 * source.random() ** 2 if len(kills) < most and attempt < 10 else None
            process = forked(child)
            if patience is not None:
                end = time.monotonic() + 300
                while MARK[0] != PHASES.index(wanted) and time.monotonic() < end:
                    if os.waitpid(process, os.WNOHANG)[0]:
                        return fingerprint(root), kills
                    time.sleep(0.0005)
                time.sleep(patience * 0.002)
                kills.append(PHASES[MARK[0]])
                os.kill(process, signal.SIGKILL)
            if os.waitpid(process, 0)[1] == 0:
                return fingerprint(root), kills
            if patience is None:
                return "failed", kills
    return "never finished", kills


def forget(what: str) -> Callable[[], None]:
    """A fault planted into the restored state."""

    def plant() -> None:
        original = checkpoint._restore

        def restore(job: Any, cursor: Any, tensors: Any) -> Any:
            fresh = torch.get_rng_state()
            kept = {
                name: value
                for name, value in tensors.items()
                if what != "optimiser" or not name.startswith("optim")
            }
            best = original(job, cursor, kept)
            if what == "rng":
                torch.set_rng_state(fresh)
            if what == "scheduler":
                job.cursor.step = 0
            if what == "cursor":
                job.cursor.position = 0
            return best

        checkpoint._restore = restore

    return plant if what != "nothing" else lambda: None


def crash_points(writer: str) -> list[str]:
    """Die at every disk write of a run in turn, half of the content being written, until a run is lost."""
    outcomes: list[str] = []
    for number in range(1, 100):
        with tempfile.TemporaryDirectory(dir=PLACE) as folder:
            root = Path(folder)
            status = os.waitpid(forked(lambda root=root, number=number: dying(root, number, writer)), 0)[1]  # type: ignore[misc]
            if status == 0:
                return outcomes
            resumed = os.waitpid(forked(lambda root=root: once(root, "off")), 0)[1] == 0  # type: ignore[misc]
            outcomes.append(fingerprint(root) if resumed else "failed")
            if outcomes[-1] == "failed":  # one is enough to see that the fault is noticed
                return outcomes
    return outcomes


def dying(root: Path, number: int, writer: str) -> None:
    """A run whose process dies in its n-th write, after half of the temporary file, or of the file itself."""
    count = 0
    original = files.write

    def write(path: Path, content: bytes | str) -> None:
        nonlocal count
        count += 1
        if count == number:
            half = (content.encode() if isinstance(content, str) else content)[: len(content) // 2]
            (path if writer == "in place" else path.with_name(f".{path.name}.part")).write_bytes(half)
            os.kill(os.getpid(), signal.SIGKILL)
        original(path, content)

    files.write = write
    once(root, "off")


def killed(kills: int, forgotten: str, seed: int, compile: str, whole: str) -> dict[str, Any]:
    """Kill runs until there were enough kills, twenty or more in every phase, or one ends with other bits."""
    source = random.Random(seed)
    phases: list[str] = []
    ends: list[str] = []

    def is_enough() -> bool:
        # On a busy machine a phase may be over before its kill comes: then more runs are killed.
        spread = kills < 20 or set(phases) == set(PHASES) or len(phases) >= 10 * kills
        return len(phases) >= kills and spread

    while not is_enough() and set(ends) <= {whole}:
        # A run that is killed while it loads restores nothing: what is forgotten shows in later phases.
        phase = PHASES[(len(ends) + (forgotten != "nothing")) % len(PHASES)]
        most = max(1, min(3, kills - len(phases)))
        end, kills_of_run = killed_run(phase, most, source, compile, forget(forgotten))
        phases, ends = phases + kills_of_run, [*ends, end]
    return {"outcomes": ends, "phases": phases}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("experiments", nargs="+")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    # Drawing takes 86 % of the time; the files are written as before.
    figures.write_png = lambda figure, path: files.write(path, b"")
    figures.svg = lambda figure, prefix="": "<svg></svg>"
    wholes: dict[str, str] = {}
    found: dict[str, dict[str, Any]] = {}
    for experiment in options.experiments:
        name, _, rest = experiment.partition("=")
        value, _, kind = rest.partition(":")
        kind = kind or "off"
        if kind not in wholes:
            with tempfile.TemporaryDirectory(dir=PLACE) as folder:
                once(Path(folder), kind)  # in this process, so that every fork finds its imports done
                wholes[kind] = fingerprint(Path(folder))
        if name == "writer":
            ends: dict[str, Any] = {"outcomes": crash_points(value)}
        elif name == "forget":
            ends = killed(60, value, options.seed, kind, wholes[kind])
        else:
            ends = killed(int(value), "nothing", options.seed, kind, wholes[kind])
        found[experiment] = {"whole": wholes[kind], **ends}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
