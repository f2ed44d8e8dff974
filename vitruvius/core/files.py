"""Atomic, fsynced writes, checksums and strict JSON."""

import csv
import hashlib
import io
import json
import os
import re
import stat
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from vitruvius.core.errors import UserError, WorkFailed, reason

T = TypeVar("T")
JSON_LIMIT = 64 * 2**20  # larger JSON files are refused before they are read
LINES_LIMIT = 256 * 2**20  # larger files of JSON lines are refused before they are read
LINE_HASH = "hash"
"""The key under which a JSON line carries the first 16 digits of its own SHA-256."""
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)  # Windows has neither flag
_NO_WAITING = getattr(os, "O_NONBLOCK", 0)


def open_regular(path: Path, flags: int = os.O_RDONLY, follow: bool = False) -> int:
    """Open a regular file; a link (unless `follow`), a FIFO, a device or a folder is an `OSError`.

    Opening a FIFO would otherwise wait for its other end for ever, and a link in a run folder could point to
    any file of the user's.
    """
    flags |= _NO_WAITING | getattr(os, "O_CLOEXEC", 0) | (0 if follow else _NO_LINKS)
    if not follow and path.is_symlink():
        raise OSError(0, "it is a link, and links are not followed here", str(path))
    handle = os.open(path, flags, 0o666)
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle
    os.close(handle)
    raise OSError(0, "it is not a regular file", str(path))


def read(path: Path, limit: int, follow: bool = False) -> bytes:
    """Read a regular file of at most `limit` bytes; its size is compared before anything is read."""
    try:
        with os.fdopen(open_regular(path, follow=follow), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            content = file.read() if size <= limit else b""
    except OSError as error:
        raise UserError(f"{path}: {reason(error)}") from error
    if size > limit:
        raise UserError(f"{path}: at most {limit:,} bytes are read, it has {size:,}")
    return content


def write(path: Path, content: bytes | str) -> None:
    """Replace a file in one step: temporary file, fsync, rename, fsync of the folder.

    After a crash at any instant the file holds the old or the new content, never a part.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    data = content.encode() if isinstance(content, str) else content
    try:
        _refuse_device(path)
        part.unlink(missing_ok=True)
        with os.fdopen(open_regular(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
        sync_folder(path.parent)
    except OSError as error:
        with suppress(OSError):  # on a disk that fails, this may fail too
            part.unlink(missing_ok=True)
        why = f"{reason(error)}; what was there before is intact"
        raise WorkFailed(f"could not write {path}: {why}") from error


def write_json(path: Path, value: Any) -> None:
    """Replace a JSON file in one step; NaN and infinity are refused."""
    write(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path, limit: int = JSON_LIMIT, follow: bool = True) -> Any:
    """Read a JSON file; a `UserError` says where it is broken."""
    content = read(path, limit, follow)
    try:
        return parse_json(content)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise UserError(f"{path}: not JSON: {error.msg} in {where}") from error
    except RecursionError as error:
        raise UserError(f"{path}: not JSON: it is nested too deeply") from error
    except ValueError as error:
        raise UserError(f"{path}: not JSON: {error}") from error


def parse_json(content: bytes) -> Any:
    """Return the value of JSON; a `ValueError` says why it is none."""
    # Decoded here: `json` itself would let half of a surrogate pair pass.
    text = content.decode(json.detect_encoding(content))
    value = json.loads(text, parse_constant=_refuse_constant)
    refuse_surrogates(text, value)
    return value


def refuse_surrogates(text: str, value: Any) -> None:
    """Refuse the value of a JSON text that holds half of a surrogate pair, as no file can hold one."""
    try:
        if "\\ud" in text.lower():  # the only way to write one
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair is no character") from None


def read_object(path: Path, what: str = "an object with fields", follow: bool = True) -> dict[str, Any]:
    """Read a JSON file that holds an object; any other type is refused."""
    value = read_json(path, follow=follow)
    if not isinstance(value, dict):
        raise UserError(f"{path}: {what} is needed, it holds {kind(value)}")
    return value


def read_as(path: Path, model: Callable[..., T]) -> T:
    """Read a JSON file of a run into a typed model, without following links."""
    return typed(path, model, read_object(path, follow=False))


def typed(path: Path, model: Callable[..., T], fields: dict[str, Any]) -> T:
    """Return a model of the fields of a file; their faults are said with its path."""
    try:
        return model(**fields)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def kind(value: Any) -> str:
    """Return the word for the type of a JSON value.

    >>> kind(None), kind([]), kind(True), kind(1.5)
    ('null', 'a list', 'true or false', 'a number')
    """
    words = {type(None): "null", list: "a list", dict: "an object", str: "a text", bool: "true or false"}
    return words.get(type(value), "a number")


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows that have the same keys as CSV, with a header."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def append_line(path: Path, value: dict[str, Any]) -> bytes:
    """Append one JSON object with its hash as a line, fsync it and return the line."""
    line = hashed_line(value)
    try:
        is_new = not path.exists()
        with os.fdopen(open_regular(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "ab") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        if is_new:
            sync_folder(path.parent)
    except OSError as error:
        raise WorkFailed(f"could not write {path}: {reason(error)}; the lines before are intact") from error
    return line


def hashed_line(value: dict[str, Any]) -> bytes:
    """Return an object as a JSON line that ends with the object's own hash."""
    hashed = {**value, LINE_HASH: content_hash(value)[:16]}
    return (json.dumps(hashed, ensure_ascii=False, allow_nan=False) + "\n").encode()


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read a file of JSON lines; an incomplete last line (a crash while appending) is cut off on disk too."""
    if not os.path.lexists(path):
        return []
    content = read(path, LINES_LIMIT)
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        write(path, whole)
    return [parse_line(line, f"{path}: line {number}") for number, line in enumerate(whole.splitlines(), 1)]


def parse_line(line: bytes, where: str) -> dict[str, Any]:
    """Return the object of a JSON line after checking its hash; lines of older versions have none."""
    try:
        value = parse_json(line)
        if not isinstance(value, dict):
            raise UserError(f"{where}: damaged: an object is needed, it holds {kind(value)}")
        claimed = value.pop(LINE_HASH, None)
        if claimed is None and ends_with_hash(value, 16):
            raise UserError(f"{where}: damaged: the name of its hash was changed")
        if claimed is not None and claimed != content_hash(value)[:16]:
            raise UserError(f"{where}: damaged: its hash does not match")
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: damaged: {error}") from error
    return value


def ends_with_hash(fields: Mapping[str, Any], digits: int) -> bool:
    """Return whether the last field is a hash: one under another name than ours is ours, damaged.

    >>> ends_with_hash({"kind": "note", "hush": "0123456789abcdef"}, 16)
    True
    """
    last = list(fields.values())[-1:]
    return bool(last and isinstance(last[0], str) and re.fullmatch(rf"[0-9a-f]{{{digits}}}", last[0]))


def sha256(path: Path, follow: bool = True) -> str:
    """Return the SHA-256 of a regular file."""
    with os.fdopen(open_regular(path, follow=follow), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_regular(path: Path) -> bool:
    """Return whether a path is a regular file itself, not a link to one."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def content_hash(value: Any) -> str:
    """Return the SHA-256 of a JSON-able value, independent of the order of its keys.

    >>> content_hash({"a": 1, "b": 2}) == content_hash({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(json.dumps(value, sort_keys=True, allow_nan=False).encode()).hexdigest()


def folder_hashes(folder: Path, skip: Collection[str] = ()) -> dict[str, str]:
    """Return the SHA-256 of every visible file directly in a folder."""
    files = sorted(path for path in folder.iterdir() if is_regular(path) and not path.name.startswith("."))
    return {path.name: sha256(path) for path in files if path.name not in skip}


def tree_hash(folder: Path) -> str:
    """Hash the names, sizes and modification times of all files below a folder, without reading them."""
    listed = [(path, path.stat()) for path in sorted(folder.rglob("*")) if path.is_file()]
    return content_hash([[str(path.relative_to(folder)), s.st_size, s.st_mtime_ns] for path, s in listed])


def sync_folder(folder: Path) -> None:
    """Fsync a folder, so that a new or renamed entry survives a power loss; not possible on Windows."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _refuse_device(path: Path) -> None:
    """Refuse to put a file in the place of a device: without /dev/null or /dev/stdout many programs fail."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return
    is_stream = os.path.islink(path) and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode))
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) or is_stream:
        raise OSError(0, "it is a device, and only files are replaced", str(path))


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")
