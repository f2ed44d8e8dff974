"""All run folders with what they hold: verb, data, best value, date, size."""

import os
import platform
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from vitruvius.core import files, integrity
from vitruvius.core.blocks import Block, Table, Text
from vitruvius.core.config import Strict
from vitruvius.core.errors import UserError

BEST = ("test_accuracy", "val_accuracy", "test_loss")
"""The fields of a result that say how good it is, the first one found is shown."""
MIB = 2**20
SILENT = 3600.0
"""Seconds without a write after which a process of another machine is not taken for running any more."""


class Holder(Strict):
    """The process that holds the lock of a run folder, the file .holder."""

    pid: Annotated[int, Field(ge=1, lt=2**31)]
    host: str


class Run(Strict):
    """One run folder."""

    verb: str
    name: str
    folder: str
    data: str | None
    best: float | None
    measure: str | None
    """What `best` is: a field of the result."""
    seconds: float | None = None
    """How long it took, if its result says so."""
    state: str
    """finished, running, unfinished, why it is silent, or why it cannot be read."""
    date: str
    """When its folder was last written to."""
    bytes: int
    faults: tuple[str, ...] | None = None
    """What is damaged, if the folder was verified; one that a process writes to at this moment is not."""


def find(root: Path) -> tuple[Run, ...]:
    """Return all runs below a folder, the newest first; a damaged one is listed with its fault."""
    found = (read(path.parent) for path in root.glob("*/*/config.json"))
    known = (run for run in found if run is not None)
    return tuple(sorted(known, key=lambda run: (run.date, run.verb, run.name), reverse=True))


def verified(root: Path) -> tuple[Run, ...]:
    """Return all runs below a folder with what is damaged in them; those without a config.json too."""
    found = {run.folder: run for run in find(root)}
    for sign in ("manifest.json", "result.json", "state"):
        for path in root.glob(f"*/*/{sign}"):
            if str(path.parent) not in found and (run := read(path.parent)) is not None:
                found[run.folder] = run
    return tuple(
        run if run.state == "running" else run.model_copy(update={"faults": faults(run)})
        for run in found.values()
    )


def faults(run: Run) -> tuple[str, ...]:
    """Return what is damaged in a run: its files, or a result that cannot be read."""
    folder = Path(run.folder)
    found = dict.fromkeys(integrity.check(folder))  # an ordered set: two checkpoints may say the same
    if os.path.lexists(folder / "result.json"):
        try:
            files.read_object(folder / "result.json", follow=False)
        except UserError as error:
            found[str(error)] = None
    return tuple(found)


def verdict(runs: Sequence[Run]) -> Iterator[Block]:
    """Say how many of the verified runs are intact, then what is damaged."""
    damaged = [run for run in runs if run.faults]
    running = sum(run.faults is None for run in runs)
    skipped = f"; {running} running, not verified" if running else ""
    checked = len(runs) - running
    if not damaged:
        yield Text(text=f"nothing is damaged in {checked} verified run folders{skipped}", style="good")
        return
    yield Text(text=f"{len(damaged)} of {checked} verified run folders are damaged{skipped}", style="error")
    rows = tuple((run.verb, run.name, fault) for run in damaged for fault in run.faults or ())
    yield Table(title="damage", columns=("verb", "name", "what is damaged"), rows=rows)


def table(runs: Sequence[Run]) -> Table:
    """Return the runs as a table."""
    rows = tuple(
        (run.verb, run.name, run.data, run.best, run.measure, run.date, run.bytes / MIB, run.state)
        for run in runs
    )
    columns = ("verb", "name", "data", "best", "measured", "date", "MiB", "state")
    return Table(title="runs", columns=columns, rows=rows, note="" if rows else "there are none")


def read(folder: Path) -> Run | None:
    """Return one run; None if its folder has vanished."""
    known = {"verb": folder.parent.name, "name": folder.name, "folder": str(folder)}
    parts = list(_parts(folder))
    if not parts:
        return None
    newest = max(part.st_mtime for part in parts)
    known["date"] = datetime.fromtimestamp(newest).isoformat(" ", "seconds")
    size = sum(part.st_size for part in parts)
    try:
        config = _fields(folder / "config.json")
        result = _fields(folder / "result.json") if (folder / "result.json").is_file() else None
    except UserError as error:
        return Run(**known, data=None, best=None, measure=None, state=str(error), bytes=size)
    # A training that a time limit has stopped has a result too.
    is_finished = result is not None and result.get("finished") is not False
    value, measure = _best(result or {})
    data = config.get("data")
    return Run(
        **known,
        data=data if isinstance(data, str) else None,
        best=value,
        measure=measure,
        seconds=_seconds(result or {}),
        state=_held(folder) or ("finished" if is_finished else "unfinished"),
        bytes=size,
    )


def _seconds(result: dict[str, Any]) -> float | None:
    """How long a run took; a search says it beside what else it spent."""
    spent = result.get("spent")
    inner = spent.get("seconds") if isinstance(spent, dict) else None
    return _number(result.get("seconds", inner))


def is_running(folder: Path) -> bool:
    """Return whether a process works on a run: the one that its lock names, if it lives or writes."""
    return _held(folder) == "running"


def _held(folder: Path) -> str:
    """Return "running" if a process holds a run, "" if none does, or why that cannot be known.

    Nobody here can ask whether a process of another machine lives: it does while it writes.
    """
    try:
        holder = files.read_as(folder / ".holder", Holder)
    except UserError:
        return ""
    if holder.host == platform.node() and os.name != "nt":
        return "running" if _is_alive(holder.pid) else ""
    newest = max((part.st_mtime for part in _parts(folder)), default=0.0)
    if time.time() - newest < SILENT:
        return "running"
    return f"silent: process {holder.pid} on {holder.host} has written nothing for an hour"


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)  # another error: it is another user's
    return True


def _parts(folder: Path) -> Iterator[os.stat_result]:
    """The files of a run; those that are replaced or removed at this moment are left out."""
    with suppress(OSError):
        for path in folder.rglob("*"):
            with suppress(OSError):
                if path.is_file():
                    yield path.stat()


def _fields(path: Path) -> dict[str, Any]:
    content = files.read_json(path)
    if not isinstance(content, dict):
        raise UserError(f"{path}: not an object but {type(content).__name__}")
    return content


def _best(result: dict[str, Any]) -> tuple[float | None, str | None]:
    for name in BEST:
        value = _number(result.get(name))
        if value is not None:
            return value, name
    return None, None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
