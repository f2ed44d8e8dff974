"""Read chosen members of a published .tar.gz without unpacking it."""

import tarfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from vitruvius.core import files
from vitruvius.core.errors import UserError, reason

MEMBERS = 64  # an archive with more is refused


class Archive(NamedTuple):
    """An archive as it was published."""

    name: str
    size: int
    sha256: str


def check(path: Path, archive: Archive) -> None:
    """Refuse a file that is not that archive, first by its size, then by its SHA-256."""
    try:
        size = path.stat().st_size
        found = files.sha256(path) if size == archive.size else ""
    except OSError as error:
        raise UserError(f"{path}: {reason(error)}") from error
    if size != archive.size:
        raise UserError(f"{path}: {size:,} bytes, the official {archive.name} has {archive.size:,}")
    if found != archive.sha256:
        raise UserError(f"{path}: damaged or not the original: its SHA-256 is {found}, not {archive.sha256}")


def read(path: Path, archive: Archive, sizes: Mapping[str, int]) -> dict[str, bytearray]:
    """Return the content of the members in `sizes`, by file name; each must have exactly that size."""
    check(path, archive)
    contents: dict[str, bytearray] = {}
    try:
        with tarfile.open(path, "r|gz") as tar:
            for position, member in enumerate(tar):
                if position >= MEMBERS:
                    raise UserError(f"{path}: more than {MEMBERS} members")
                if member.name in sizes:
                    contents[member.name] = _content(path, tar, member, sizes[member.name])
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path}: cannot be read: {error}") from error
    missing = [name for name in sizes if name not in contents]
    if missing:
        raise UserError(f"{path}: has no member {', '.join(missing)}")
    return {name.rpartition("/")[2]: contents[name] for name in sizes}


def _content(path: Path, tar: tarfile.TarFile, member: tarfile.TarInfo, size: int) -> bytearray:
    if not member.isreg() or member.size != size:
        raise UserError(f"{path}: {member.name} is not a plain file of {size:,} bytes")
    stream = tar.extractfile(member)
    assert stream is not None  # a plain file always has a stream
    content = bytearray(stream.read(size))
    if len(content) != size:
        raise UserError(f"{path}: {member.name} ends after {len(content):,} of {size:,} bytes")
    return content
