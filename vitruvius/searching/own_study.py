"""The study of a search, opened: that of the run folder is verified first, and made anew if it is damaged.

Nothing is lost by that: the records hold what trainings had reached at their rungs, and those that have ended
are evaluated again from their run folders.
"""

import os
import socket
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from vitruvius.core import files
from vitruvius.core.errors import UserError, reason
from vitruvius.core.runs import RunFolder
from vitruvius.searching.prepare import Prepared
from vitruvius.searching.study import OtherSettings, Request, Study
from vitruvius.searching.trials import Outcome

FILE = "study.db"
HOW_RUN = ("spread", "workers", "storage", "data_dir")
"""Settings that machines which share a study may have each for itself."""
Lines = Sequence[dict[str, Any]]


def opened(folder: RunFolder, prepared: Prepared, lines: list[dict[str, Any]]) -> tuple[Study, str]:
    """Open the study of a search; if it had to be made anew, return what was wrong with the old one too."""
    config, path = prepared.config, folder.path(FILE)
    shared = {key: value for key, value in config.model_dump(mode="json").items() if key not in HOW_RUN}
    owner = f"{socket.gethostname()}:{os.path.abspath(folder.folder)}"
    about = (folder.folder.name, owner, files.content_hash(shared))
    if config.storage:
        return Study(config.storage, *about), ""
    url, fault = f"sqlite:///{path}", file_fault(path)
    if not fault:
        study, fault = _verified(url, about, prepared, lines)
        if study is not None:
            return study, ""
    try:
        for one in (path, path.with_name(f"{FILE}-journal")):
            one.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"{path}: {fault}, and it cannot be removed: {reason(error)}") from error
    study = Study(url, *about)
    # What is done again is recorded again.
    lines[:] = [line for line in lines if line.get("kind") != "trained" or _told(study, prepared, line)]
    folder.rewrite(lines)
    return study, f"{path}: {fault}"


def file_fault(path: Path) -> str:
    """Say what is wrong with the file of a study; "" if nothing is, or if there is none."""
    if not os.path.lexists(path):
        return ""
    if not files.is_regular(path):
        return "it is not a regular file"
    try:
        with closing(sqlite3.connect(path)) as connection:
            found = str(connection.execute("PRAGMA integrity_check(1)").fetchone()[0])
    except (sqlite3.Error, UnicodeError) as error:
        return str(error)
    return "" if found == "ok" else found.strip().partition("\n")[0]


def _verified(
    url: str, about: tuple[str, str, str], prepared: Prepared, lines: Lines
) -> tuple[Study | None, str]:
    """Return a study whose outcomes are those that were told and recorded, or None and why they are not."""
    try:
        study = Study(url, *about)
    except OtherSettings:
        raise
    except UserError as error:
        return None, str(error)
    try:
        if not (fault := study.fault() or _records_fault(study, prepared, lines)):
            return study, ""
    except Exception as error:  # of SQLAlchemy, of Optuna, or of whoever reads a value of another type
        fault = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:200]}"
    with suppress(Exception):
        study.close()
    return None, fault


def _told(study: Study, prepared: Prepared, line: dict[str, Any]) -> bool:
    """Tell a new study what a training had reached at a rung; return whether the record says so.

    It cannot be read from the training's folder any more, if the training has gone on since.
    """
    numbers = {prepared.name(number): number for number in prepared.networks}
    is_at_rung = line["steps"] < prepared.plan.steps and line["accuracy"] is not None
    if not is_at_rung or line["network"] not in numbers:
        return False
    request = Request(numbers[line["network"]], line["steps"], line["replicate"])
    outcome = Outcome(accuracy=line["accuracy"], seconds=line.get("timing", {}).get("seconds", 0.0))
    study.queue([request])
    for trial, _ in study.claim([request], 1):
        study.tell(trial, outcome, request.steps)
    return True


def _records_fault(study: Study, prepared: Prepared, lines: Lines) -> str:
    """Say which recorded training the study does not hold; it is told of one before that is recorded."""
    found = {(prepared.name(r.network), r.steps, r.replicate): o for r, o in study.finished().items()}
    for line in lines:
        key = (line.get("network"), line.get("steps"), line.get("replicate"))
        is_held = key in found and found[key].accuracy == line.get("accuracy")
        if line.get("kind") == "trained" and not is_held:
            return f"it does not hold what records.jsonl says about {key[0]} after {key[1]} steps"
    return ""
