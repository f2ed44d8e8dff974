"""Which content the files of a run folder must have: the manifest and the checkpoints name their SHA-256.

A finished run is described by manifest.json. While a run is going on, its newest checkpoints
(`state/<step>-<epoch>.json`) name what changes: the settings, the verified part of records.jsonl and the
best weights. Both carry a hash of themselves; those of older versions have none and are accepted.
"""

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pydantic import ConfigDict

from vitruvius.core import files
from vitruvius.core.config import Strict
from vitruvius.core.errors import UserError, reason

MODEL = "model.safetensors"
RECORDS = "records.jsonl"
SELF = "self"
DAMAGED = "the file is damaged or was changed"


class Manifest(Strict):
    """The files of a run by SHA-256, and what its result depends on beside its config."""

    model_config = ConfigDict(extra="ignore")  # that of an export says more
    files: dict[str, str] = {}
    environment: dict[str, Any] = {}
    hashed: bool = False
    """Whether the file carried a hash of itself, as those of older versions do not."""


class Records(Strict):
    """The part of records.jsonl that a checkpoint refers to."""

    bytes: int
    sha256: str


class Beside(Strict):
    """What the files beside a checkpoint were when it was written."""

    config: dict[str, Any]
    """The settings, without those that may differ on resume."""
    environment: dict[str, Any]
    records: Records
    model: str | None
    """The SHA-256 of model.safetensors with the best weights; None if there is none."""


class Checkpoint(Strict):
    """The description of a checkpoint: how far the training was, and the SHA-256 of its tensors."""

    cursor: dict[str, int | float | None]
    sha256: str
    beside: Beside | None = None


def write_hashed(path: Path, fields: dict[str, Any]) -> None:
    """Replace a JSON file by an object that carries its own hash."""
    files.write_json(path, {**fields, SELF: files.content_hash(fields)})


def read_manifest(folder: Path) -> Manifest | None:
    """Return a run's manifest, None if there is none; a damaged one is refused."""
    path = folder / "manifest.json"
    if not os.path.lexists(path):
        return None
    fields, hashed = _read_hashed(path)
    return files.typed(path, Manifest, {**fields, "hashed": hashed})


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Replace a run's manifest."""
    write_hashed(folder / "manifest.json", manifest.model_dump(mode="json", exclude={"hashed"}))


def read_checkpoint(path: Path) -> Checkpoint:
    """Return the description of a checkpoint; a damaged one is refused."""
    fields, hashed = _read_hashed(path)
    if not hashed:
        raise UserError(f"{path}: its checksum is missing: the file is damaged")
    return files.typed(path, Checkpoint, fields)


def checkpoints(folder: Path) -> list[Path]:
    """Return the descriptions in a folder of checkpoints, oldest first; one that cannot be listed is refused.

    Taken for empty, it would let a run begin anew over its own records.
    """
    if folder.is_symlink():
        raise UserError(f"{folder}: it is a link, and links are not followed here")
    try:
        return sorted(path for path in folder.iterdir() if re.fullmatch(r"\d{9}-\d{5}\.json", path.name))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UserError(f"{folder}: {reason(error)}") from error


def beside(folder: Path) -> list[Beside]:
    """Return what the intact checkpoints of a run say about the files beside them, oldest first."""
    found = []
    for path in checkpoints(folder / "state"):
        with suppress(UserError):  # whoever needs this checkpoint says so
            described = read_checkpoint(path)
            found += [described.beside] if described.beside else []
    return found


def repair_manifest(folder: Path) -> list[str]:
    """Write a missing or damaged manifest again from the newest checkpoint; return what was done."""
    try:
        if read_manifest(folder) is not None:
            return []
        fault = f"{folder / 'manifest.json'}: is missing"
    except UserError as error:
        fault = str(error)
    known = beside(folder)
    if known and not (folder / "manifest.json").is_dir():
        write_manifest(folder, Manifest(environment=known[-1].environment))
        return [f"{fault}; it was written again from the newest checkpoint"]
    if not fault.endswith("is missing"):
        raise UserError(fault)
    return []


def verify(folder: Path, name: str) -> Path:
    """Return the path of a run's file after comparing its SHA-256 with the manifest or the checkpoints.

    A file that neither names (one of an older version, or of a run that was killed early) is taken as it is.
    """
    path = folder / name
    if not os.path.lexists(path):
        raise UserError(f"{folder}: has no {name}; is the run finished?")
    manifest = read_manifest(folder)
    known, where = set(), "manifest.json"
    if manifest is not None and name in manifest.files:
        known = {manifest.files[name]}
    elif name == MODEL:
        known, where = {one.model for one in beside(folder) if one.model}, "the checkpoints"
    if not files.is_regular(path):
        raise UserError(f"{path}: it is not a regular file")
    try:
        if known and files.sha256(path, follow=False) not in known:
            raise UserError(f"{path}: its SHA-256 is not the one in {where}: {DAMAGED}")
    except OSError as error:
        raise UserError(f"{path}: {reason(error)}") from error
    return path


def records_fault(path: Path, known: Records) -> str:
    """Say whether records.jsonl does not begin with what a checkpoint names; "" if it does."""
    content = files.read(path, files.LINES_LIMIT) if os.path.lexists(path) else b""
    if hashlib.sha256(content[: known.bytes]).hexdigest() == known.sha256:
        return ""
    return f"{path}: its first {known.bytes:,} bytes are not those of the checkpoint: {DAMAGED}"


def config_fault(recorded: dict[str, Any], known: Beside) -> str:
    """Say in which settings config.json differs from those of a checkpoint; "" if in none."""
    differing = [key for key, value in known.config.items() if recorded.get(key) != value]
    pairs = [f"{key} is {recorded.get(key)!r}, was {known.config[key]!r}" for key in differing]
    return f"{', '.join(pairs)}: {DAMAGED}" if pairs else ""


def check(folder: Path) -> list[str]:
    """Return the faults of a run folder: what is damaged, missing, replaced by a link, or not as it is named.

    A run that another process is writing at this moment may show faults that are none.
    """
    faults: list[str] = []
    try:
        _check(folder, faults)
    except OSError as error:
        return [f"{folder}: {reason(error)}"]
    return faults


@contextmanager
def _noted(faults: list[str]) -> Iterator[None]:
    """Inside, a refusal is noted as a fault."""
    try:
        yield
    except UserError as error:
        faults.append(str(error))


def _check(folder: Path, faults: list[str]) -> None:
    for path in sorted(folder.iterdir()):
        if path.is_symlink() or not (files.is_regular(path) or path.is_dir()):
            faults.append(f"{path}: it is not a regular file")
    recorded: dict[str, Any] = {}
    manifest = Manifest()
    with _noted(faults):
        recorded = files.read_object(folder / "config.json", follow=False)
    with _noted(faults):
        manifest = read_manifest(folder) or manifest
    names = [*manifest.files, *([MODEL] if MODEL not in manifest.files and (folder / MODEL).exists() else [])]
    for name in names:
        if Path(name).name != name:
            faults.append(f"{folder / 'manifest.json'}: {name!r} is not a name of a file")
        elif name != "config.json" or manifest.hashed:  # older versions rewrote it without the manifest
            with _noted(faults):
                verify(folder, name)
    with _noted(faults):
        for path in checkpoints(folder / "state"):
            with _noted(faults):
                _check_checkpoint(folder, path, recorded, faults)
    _check_lines(folder / RECORDS, faults)


def _check_checkpoint(folder: Path, path: Path, recorded: dict[str, Any], faults: list[str]) -> None:
    described, tensors = read_checkpoint(path), path.with_suffix(".safetensors")
    if not files.is_regular(tensors):
        faults.append(f"{tensors}: is missing or not a regular file")
    elif files.sha256(tensors, follow=False) != described.sha256:
        faults.append(f"{tensors}: its SHA-256 does not match: the file is damaged")
    if described.beside and (fault := records_fault(folder / RECORDS, described.beside.records)):
        faults.append(fault)
    if described.beside and recorded and (fault := config_fault(recorded, described.beside)):
        faults.append(f"{folder / 'config.json'}: {fault}")


def _check_lines(path: Path, faults: list[str]) -> None:
    if not os.path.lexists(path):
        return
    with _noted(faults):
        lines = files.read(path, files.LINES_LIMIT).split(b"\n")
        for number, line in enumerate(lines[:-1], 1):  # after the last break stands a torn line or nothing
            with _noted(faults):
                files.parse_line(line, f"{path}: line {number}")


def _read_hashed(path: Path) -> tuple[dict[str, Any], bool]:
    """Return the fields of a file and whether it carries its own hash; one that does not match is refused."""
    fields = files.read_object(path, follow=False)
    claimed = fields.pop(SELF, None)
    if claimed is None and files.ends_with_hash(fields, 64):
        raise UserError(f"{path}: the name of its checksum was changed: the file is damaged")
    if claimed is not None and claimed != files.content_hash(fields):
        raise UserError(f"{path}: its checksum does not match: the file is damaged")
    return fields, claimed is not None
