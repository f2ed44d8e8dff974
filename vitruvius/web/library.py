"""The run folders that are shown, each under an id: no path ever comes from a request.

Folders and files that are links are not followed. Results are read into the types that wrote them.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from starlette.exceptions import HTTPException

from vitruvius.core import files, plugins, records, run_list
from vitruvius.core.config import Strict
from vitruvius.core.errors import UserError
from vitruvius.core.integrity import RECORDS
from vitruvius.doctor.results import Result as Diagnosis
from vitruvius.inspecting.results import Result as Inspected
from vitruvius.measuring.results import Result as Measured
from vitruvius.pretraining.results import ProbeResult
from vitruvius.pretraining.results import Result as Pretrained
from vitruvius.ranking.results import Result as Ranked
from vitruvius.searching.results import Result as Searched
from vitruvius.training.predictions import Predictions
from vitruvius.training.results import Evaluation
from vitruvius.training.results import Result as Trained
from vitruvius.web.headlines import headline

T = TypeVar("T")
KEPT = 64
"""Results that are kept in memory, those used last."""
PICTURES = (".png",)
RESULTS: dict[str, type[records.Result]] = {
    "train": Trained,
    "predict": Predictions,
    "evaluate": Evaluation,
    "data": Inspected,
    "rank": Ranked,
    "pretrain": Pretrained,
    "probe": ProbeResult,
    "measure": Measured,
    "search": Searched,
    "doctor": Diagnosis,
}
"""The results of verbs that describe them in their subject's room; others have a `Result` of their own."""


class Shown(Strict):
    """A run in the table of runs."""

    id: str
    run: run_list.Run
    headline: str
    """Its result in a few words."""


class Library:
    """The folder that holds all runs."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._results: OrderedDict[Path, tuple[float, records.Result]] = OrderedDict()

    def runs(self) -> list[Shown]:
        """List all runs, the newest first."""
        found = []
        for run in run_list.find(self.root):
            folder = Path(run.folder)
            if not _is_link(folder):
                found.append(Shown(id=identity(folder), run=run, headline=self.headline(folder)))
        return found

    def folder(self, id: str) -> Path:
        """Return the folder of a run; 404 if there is none."""
        for path in self.root.glob("*/*/config.json"):
            if identity(path.parent) == id and not _is_link(path.parent):
                return path.parent
        raise HTTPException(404, "There is no run with this address; it may have been removed.")

    def entry(self, folder: Path) -> run_list.Run:
        """Return what is known about one run; 404 if it has vanished."""
        run = run_list.read(folder)
        if run is None:
            raise HTTPException(404, "This run has been removed.")
        return run

    def result(self, folder: Path) -> records.Result | None:
        """Return the result of a run as the type of its verb; None if there is none yet."""
        path = folder / "result.json"
        try:
            changed = path.lstat().st_mtime
        except OSError:
            return None
        known = self._results.get(path)
        if known is None or known[0] != changed:
            known = (changed, files.read_as(path, _result_type(folder.parent.name)))
        self._results[path] = known
        self._results.move_to_end(path)
        if len(self._results) > KEPT:
            self._results.popitem(last=False)
        return known[1]

    def headline(self, folder: Path) -> str:
        """Say what came out of a run, in a few words."""
        try:
            result = self.result(folder)
        except UserError:
            return ""  # its state says why
        return "" if result is None else headline(result)


def identity(folder: Path) -> str:
    """Return the id of a run: the same as long as it has its verb and name."""
    return _hashed(f"{folder.parent.name}/{folder.name}")


def config(folder: Path) -> dict[str, Any]:
    """Return the settings that a run recorded."""
    return files.read_object(folder / "config.json", follow=False)


def lines(folder: Path) -> Iterator[dict[str, Any]]:
    """Read the records of a run that may still be written: a torn last line is left out, not cut off."""
    path = folder / RECORDS
    if not files.is_regular(path):
        return
    content = files.read(path, files.LINES_LIMIT)
    for number, line in enumerate(content.split(b"\n")[:-1], 1):
        yield files.parse_line(line, f"{path.name}: line {number}")


def typed(folder: Path, found: Iterable[dict[str, Any]], kind: type[T]) -> list[T]:
    """Return the records of one kind among those of a run, as the type that wrote them."""
    return [
        files.typed(folder / RECORDS, kind, {key: value for key, value in line.items() if key != "kind"})
        for line in found
        if line.get("kind") == kind.__name__.lower()
    ]


def pictures(folder: Path) -> dict[str, Path]:
    """Return the pictures of a run by id."""
    found = (path for path in sorted(folder.iterdir()) if path.suffix in PICTURES and files.is_regular(path))
    return {_hashed(path.name): path for path in found}


def _hashed(name: str) -> str:
    return hashlib.sha256(name.encode(errors="surrogateescape")).hexdigest()[:16]


def _is_link(folder: Path) -> bool:
    return folder.is_symlink() or folder.parent.is_symlink()


def _result_type(verb: str) -> Any:
    """Return the type of a verb's result."""
    if verb in RESULTS:
        return RESULTS[verb]
    if verb in plugins.members("verbs"):
        return getattr(plugins.module("verbs", verb), "Result", _Unknown)
    return _Unknown


class _Unknown(records.Result):
    """The result of a verb that this version does not know."""

    model_config = {"extra": "ignore"}
