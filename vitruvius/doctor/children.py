"""Processes that a watched script starts: each is watched too and leaves its result in a folder.

`multiprocessing` processes (torch.multiprocessing.spawn and hogwild use them) run under watch from inside;
of the processes that torchrun starts, each runs `doctor run` itself, and rank 0 collects.
"""

import os
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from vitruvius.core import files
from vitruvius.doctor import hooks
from vitruvius.doctor.diagnose import watch
from vitruvius.doctor.results import Result

UNWATCHED = ("multiprocessing.", "concurrent.", "torch.utils.data", "torch._inductor", "joblib.")
"""Modules whose processes only serve: they load data or compile and train nothing."""
LONGEST = 60.0  # seconds that rank 0 waits for the results of the others


@dataclass(frozen=True)
class WatchedProcess:
    """What a child process runs instead of its `run`."""

    run: Callable[[], Any]
    folder: str
    steps: int | None

    def __call__(self) -> None:
        hooks.silence()
        try:
            with watch(self.steps) as report:
                self.run()
        finally:
            if report.result.checked:
                leave(report.result, self.folder)


@contextmanager
def watched(folder: str, steps: int | None) -> Iterator[None]:
    """Watch every process that is started by `multiprocessing` inside the block."""
    original = BaseProcess.start

    def start(process: BaseProcess) -> None:
        target = getattr(process, "_target", None)
        if not str(getattr(target, "__module__", "")).startswith(UNWATCHED):
            process.run = WatchedProcess(process.run, folder, steps)  # type: ignore[method-assign]
        try:
            original(process)
        finally:
            vars(process).pop("run", None)

    BaseProcess.start = start  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        BaseProcess.start = original  # type: ignore[method-assign]


def leave(result: Result, folder: str) -> None:
    """Leave the result of this process in a folder."""
    Path(folder).mkdir(exist_ok=True)
    files.write(Path(folder) / f"{uuid.uuid4()}.json", result.model_dump_json())


def results(folder: str) -> list[Result]:
    """The results that processes have left."""
    return [Result.model_validate_json(path.read_text()) for path in sorted(Path(folder).glob("*.json"))]


def merged(own: Result, others: list[Result]) -> Result:
    """One result for several processes: a finding that many share appears once."""
    everyone = [own, *others]
    found = {(f.bug, f.where, f.module): f for result in reversed(everyone) for f in result.findings}
    order = {"error": 0, "warning": 1, "info": 2}
    checked = tuple(dict.fromkeys(name for result in everyone for name in result.checked))
    skipped = {s.check: s for result in reversed(everyone) for s in result.skipped if s.check not in checked}
    if not others:
        return own
    return own.model_copy(
        update={
            "findings": tuple(sorted(found.values(), key=lambda f: (order[f.severity], f.bug, f.where))),
            "checked": checked,
            "skipped": tuple(skipped.values()),
            "steps": sum(result.steps for result in everyone),
            "watched": sum(result.watched for result in everyone),
        }
    )


def is_worker() -> bool:
    """Whether torchrun has started this process as another rank than 0 of its machine."""
    return "TORCHELASTIC_RUN_ID" in os.environ and os.environ.get("LOCAL_RANK", "0") != "0"


def torchrun_folder() -> str:
    """The folder that all processes of one torchrun share: they have the same parent."""
    return str(Path(tempfile.gettempdir()) / f"vitruvius-doctor-{os.getuid()}-{os.getppid()}")


def collected(own: Result) -> Result:
    """The result of all ranks of this machine, on rank 0; without torchrun, its own."""
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        return own
    wanted = int(os.environ.get("LOCAL_WORLD_SIZE", "1")) - 1
    folder, until = torchrun_folder(), time.monotonic() + LONGEST
    while len(list(Path(folder).glob("*.json"))) < wanted and time.monotonic() < until:
        time.sleep(0.1)
    others = results(folder)
    for path in Path(folder).glob("*.json"):
        path.unlink()
    if Path(folder).is_dir():
        Path(folder).rmdir()
    return merged(own, others)
