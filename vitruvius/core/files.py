"""Atomic, fsynced writes, checksums and strict JSON."""

import csv
import hashlib
import io
import json
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from vitruvius.core.errors import UserError, WorkFailed, reason

JSON_LIMIT = 64 * 2**20  # larger JSON files are refused before they are read


def write(path: Path, content: bytes | str) -> None:
    """Replace a file in one step: temporary file, fsync, rename, fsync of the folder.

    After a crash at any instant the file holds the old or the new content, never a part.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(part, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
        _sync_folder(path.parent)
    except OSError as error:
        part.unlink(missing_ok=True)
        why = f"{reason(error)}; what was there before is intact"
        raise WorkFailed(f"could not write {path}: {why}") from error


def write_json(path: Path, value: Any) -> None:
    """Replace a JSON file in one step; NaN and infinity are refused."""
    write(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path, limit: int = JSON_LIMIT) -> Any:
    """Read a JSON file; a `UserError` says where it is broken."""
    try:
        with path.open("rb") as stream:
            content = stream.read(limit + 1)  # a device has no size that could be asked for first
        if len(content) > limit:
            raise UserError(f"{path}: at most {limit:,} bytes of JSON are read, it has more")
        return json.loads(content, parse_constant=_refuse_constant)
    except OSError as error:
        raise UserError(f"{path}: {reason(error)}") from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise UserError(f"{path}: not JSON: {error.msg} in {where}") from error
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: not JSON: {error}") from error


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows that have the same keys as CSV, with a header."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def append_line(path: Path, value: Any) -> None:
    """Append one JSON line and fsync it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        with open(path, "ab") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise WorkFailed(f"could not write {path}: {reason(error)}; the lines before are intact") from error


def read_lines(path: Path) -> list[Any]:
    """Read a file of JSON lines; an incomplete last line (a crash while appending) is cut off on disk too."""
    if not path.exists():
        return []
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        write(path, whole)
    try:
        return [json.loads(line) for line in whole.splitlines()]
    except ValueError as error:
        raise UserError(f"{path}: damaged: {error}") from error


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def content_hash(value: Any) -> str:
    """Return the SHA-256 of a JSON-able value, independent of the order of its keys.

    >>> content_hash({"a": 1, "b": 2}) == content_hash({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(json.dumps(value, sort_keys=True, allow_nan=False).encode()).hexdigest()


def folder_hashes(folder: Path, skip: Collection[str] = ()) -> dict[str, str]:
    """Return the SHA-256 of every visible file directly in a folder."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    return {path.name: sha256(path) for path in files if path.name not in skip}


def tree_hash(folder: Path) -> str:
    """Hash the names, sizes and modification times of all files below a folder, without reading them."""
    listed = [(path, path.stat()) for path in sorted(folder.rglob("*")) if path.is_file()]
    return content_hash([[str(path.relative_to(folder)), s.st_size, s.st_mtime_ns] for path, s in listed])


def _sync_folder(folder: Path) -> None:
    """See a rename to the disk; Windows has no fsync of folders."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")
