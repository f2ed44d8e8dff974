"""Pictures in tar files of the WebDataset layout: `shards:PATTERN`, as in `shards:data/train-*.tar@64`.

In each tar file the members of one sample follow one another and share the name before the first dot:
`0001.jpg` with `0001.cls`, a text that holds the number or name of the class (or `0001.json` with a field
label, class or cls). Files whose names begin with train, val (or validation) and test are those parts; else
the seed divides the samples. The tar files are not compressed and are not unpacked: pictures are read where
they lie. Links and names that lead out are refused.
"""

import glob
import os
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from vitruvius.core import files
from vitruvius.core.errors import UserError, reason
from vitruvius.core.records import Progress
from vitruvius.datasets import Dataset, _images, _listing, _paths, _pictures
from vitruvius.datasets._listing import PARTS, Found, Picture

READS_PICTURES = True
MEMBER_LIMIT = 5_000_000  # members of a tar file
LABEL_LIMIT = 2**16  # bytes of a label
BRACES = re.compile(r"\{(\d{1,9})\.\.(\d{1,9})\}")
SHARD_LIMIT = 100_000


class Member(NamedTuple):
    """A file inside a tar file: what comes before and after the first dot of its name, and where it lies."""

    key: str
    ending: str
    offset: int
    size: int


def shards(pattern: str, *, data_dir: str | None = None, **options: Any) -> Dataset:
    """Load the pictures of tar files (relative to `data_dir` if given), divided like those of a folder."""
    return _pictures.dataset(find(pattern, data_dir), _pictures.Options(**options))


def decode(pattern: str, *, data_dir: str | None = None, **options: Any) -> Iterator[Progress]:
    """Decode the pictures into the cache, if they are many."""
    return _pictures.decoding(find(pattern, data_dir), _pictures.Options(**options))


def find(pattern: str, data_dir: str | None = None) -> Found:
    """List the pictures of the tar files that a pattern with *, ? and {000..015} names."""
    name, side = _listing.split_side(pattern, "shards")
    root = _paths.expand_home(data_dir or ".").resolve()
    paths = _matching(str(root / _paths.expand_home(name)))
    where = f"shards {name}"
    if not paths:
        raise UserError(f"{where}: no file matches below {root}")
    foreign: list[str] = []
    parts: dict[str, list[Picture]] = {}
    for path in paths:
        found = list(_samples(path, foreign))
        parts.setdefault(_part(path), []).extend(found)
    if len(parts) > 1 and "all" in parts:
        odd = [path.name for path in paths if _part(path) == "all"]
        raise UserError(f"{where}: of some files the part is not known: {_listing.some(odd)}")
    if set(parts) <= {"validation", "test"}:  # one part alone is a set of its own
        parts = {"all": [picture for part in parts.values() for picture in part]}
    _refuse_gaps(parts, where)
    return Found(f"shards:{name}", where, parts, side, tuple(foreign))


def _matching(pattern: str) -> list[Path]:
    """Return the files that a pattern names, sorted by name.

    >>> [_braces("a-{08..10}.tar")[i] for i in (0, 2)]
    ['a-08.tar', 'a-10.tar']
    """
    found = {path for one in _braces(pattern) for path in glob.glob(one)}
    return [Path(path) for path in sorted(found) if os.path.isfile(path)]


def _braces(pattern: str) -> list[str]:
    """Write out the first {000..015} of a pattern."""
    match = BRACES.search(pattern)
    if match is None:
        return [pattern]
    first, last = match.groups()
    if not 0 <= int(last) - int(first) < SHARD_LIMIT:
        raise UserError(f"shards {pattern}: {match[0]} must count up to at most {SHARD_LIMIT:,} files")
    numbers = (f"{number:0{len(first)}}" for number in range(int(first), int(last) + 1))
    return [f"{pattern[: match.start()]}{number}{pattern[match.end() :]}" for number in numbers]


def _part(path: Path) -> str:
    word = re.match(r"[a-z]*", path.name.lower())
    return PARTS.get(word[0] if word else "", "all")


def _samples(path: Path, foreign: list[str]) -> Iterator[Picture]:
    """Yield the pictures of a tar file with their labels."""
    seen: set[str] = set()
    sample: list[Member] = []
    for member in (*_members(path), None):
        if sample and (member is None or member.key != sample[0].key):
            if sample[0].key in seen:
                raise UserError(f"shards {path}: the members of {sample[0].key} do not follow one another")
            seen.add(sample[0].key)
            yield from _picture(path, sample, foreign)
            sample = []
        if member is not None:
            sample.append(member)


def _members(path: Path) -> Iterator[Member]:
    """Yield the plain files of a tar file; nothing is unpacked, and only headers are read."""
    where = f"shards {path}"
    try:
        size = path.stat().st_size
        with tarfile.open(path, "r:") as archive:
            for count, entry in enumerate(archive):
                if count >= MEMBER_LIMIT:
                    raise UserError(f"{where}: more than {MEMBER_LIMIT:,} members")
                name = PurePosixPath(entry.name.replace("\\", "/"))
                if name.is_absolute() or ".." in name.parts or re.match(r"[A-Za-z]:", entry.name):
                    raise UserError(f"{where}: {entry.name} leads out of the archive")
                if entry.isdir():
                    continue
                if not entry.isreg():
                    raise UserError(f"{where}: {entry.name} is a link or a device, only files are read")
                if entry.offset_data + entry.size > size:
                    raise UserError(f"{where}: {entry.name} ends after the file, which may be cut off")
                key, _, ending = name.name.partition(".")
                yield Member(str(name.parent / key), ending.lower(), entry.offset_data, entry.size)
    except (tarfile.TarError, EOFError) as error:
        raise UserError(f"{where}: not an uncompressed tar file: {error}") from None
    except OSError as error:
        raise UserError(f"{where}: {reason(error)}") from None


def _picture(path: Path, sample: list[Member], foreign: list[str]) -> Iterator[Picture]:
    """Yield the picture of a sample with its label; a sample without a picture is foreign."""
    shown = f"{path.name}/{sample[0].key}"
    pictures = [member for member in sample if f".{member.ending.rpartition('.')[2]}" in _images.SUFFIXES]
    if not pictures:
        foreign += [f"{path.name}/{member.key}.{member.ending}" for member in sample]
        return
    if len(pictures) > 1:
        raise UserError(f"shards {path}: {sample[0].key} has {len(pictures)} pictures, one is read")
    (picture,) = pictures
    labels = {member.ending: member for member in sample}
    kind = ""
    if "cls" in labels:
        kind = _text(path, labels["cls"], shown)
    elif "json" in labels:
        kind = _from_json(_text(path, labels["json"], shown), shown)
    yield Picture(f"{shown}.{picture.ending}", kind, path, picture.offset, picture.size)


def _text(path: Path, member: Member, shown: str) -> str:
    if member.size > LABEL_LIMIT:
        raise UserError(
            f"shards {shown}.{member.ending}: {member.size:,} bytes, at most {LABEL_LIMIT:,} are read"
        )
    try:
        text = _images.read(path, member.offset, member.size).decode().strip()
    except UnicodeDecodeError:
        raise UserError(f"shards {shown}.{member.ending}: not UTF-8") from None
    if not text:
        raise UserError(f"shards {shown}.{member.ending}: no label")
    return text


def _from_json(text: str, shown: str) -> str:
    """Return the label of a JSON object; '' if it has none."""
    try:
        described = files.parse_json(text.encode())
    except (ValueError, RecursionError) as error:
        raise UserError(f"shards {shown}.json: {error}") from None
    for field in ("label", "class", "cls"):
        value = described.get(field) if isinstance(described, dict) else None
        if isinstance(value, str | int) and str(value):
            return str(value)
    return ""


def _refuse_gaps(parts: dict[str, list[Picture]], where: str) -> None:
    """Refuse shards without pictures, and pictures without a label among others with one."""
    pictures = [picture for part in parts.values() for picture in part]
    if not pictures:
        raise UserError(f"{where}: holds no pictures")
    empty = [picture.name for picture in pictures if not picture.kind]
    if empty and len(empty) < len(pictures):
        raise UserError(f"{where}: no label (.cls or .json) for {_listing.some(empty)}")
    if "all" not in parts:
        if "train" not in parts:
            raise UserError(f"{where}: no file is named train")
        _listing.refuse_strange(where, parts)
