"""All run folders with what they hold: verb, data, best value, date, size."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from vitruvius.core import files
from vitruvius.core.blocks import Table
from vitruvius.core.config import Strict
from vitruvius.core.errors import UserError

BEST = ("test_accuracy", "val_accuracy", "test_loss")
"""The fields of a result that say how good it is, the first one found is shown."""
MIB = 2**20


class Run(Strict):
    """One run folder."""

    verb: str
    name: str
    folder: str
    data: str | None
    best: float | None
    measure: str | None
    """What `best` is: a field of the result."""
    state: str
    """finished, unfinished, or why it cannot be read."""
    date: str
    """When its folder was last written to."""
    bytes: int


def find(root: Path) -> tuple[Run, ...]:
    """Return all runs below a folder, the newest first; a damaged one is listed with its fault."""
    found = [_run(path.parent) for path in root.glob("*/*/config.json")]
    return tuple(sorted(found, key=lambda run: (run.date, run.verb, run.name), reverse=True))


def table(runs: Sequence[Run]) -> Table:
    """Return the runs as a table."""
    rows = tuple(
        (run.verb, run.name, run.data, run.best, run.measure, run.date, run.bytes / MIB, run.state)
        for run in runs
    )
    columns = ("verb", "name", "data", "best", "measured", "date", "MiB", "state")
    return Table(title="runs", columns=columns, rows=rows, note="" if rows else "there are none")


def _run(folder: Path) -> Run:
    known = {"verb": folder.parent.name, "name": folder.name, "folder": str(folder)}
    parts = [path.stat() for path in folder.rglob("*") if path.is_file()]
    newest = max(part.st_mtime for part in parts)
    known["date"] = datetime.fromtimestamp(newest).isoformat(" ", "seconds")
    size = sum(part.st_size for part in parts)
    try:
        config = _fields(folder / "config.json")
        result = _fields(folder / "result.json") if (folder / "result.json").is_file() else None
    except UserError as error:
        return Run(**known, data=None, best=None, measure=None, state=str(error), bytes=size)
    value, measure = _best(result or {})
    data = config.get("data")
    return Run(
        **known,
        data=data if isinstance(data, str) else None,
        best=value,
        measure=measure,
        state="unfinished" if result is None else "finished",
        bytes=size,
    )


def _fields(path: Path) -> dict[str, Any]:
    content = files.read_json(path)
    if not isinstance(content, dict):
        raise UserError(f"{path}: not an object but {type(content).__name__}")
    return content


def _best(result: dict[str, Any]) -> tuple[float | None, str | None]:
    for name in BEST:
        value = result.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value), name
    return None, None
