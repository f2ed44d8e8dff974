"""Decoded pictures on disk, shared by runs: a file of pixels, mapped into memory, and an index beside it.

An entry is named by the SHA-256 of what it was made from: name, size and modification time of every picture,
side and fit. It appears in one step when it is complete. Its pixels carry a CRC-32 per chunk. The cache lies
in $XDG_CACHE_HOME/vitruvius/pixels (else ~/.cache/vitruvius/pixels); $VITRUVIUS_CACHE_LIMIT is its size in GB
(50), the entries that were not used for longest make room.
"""

import hashlib
import json
import math
import os
import shutil
import zlib
from collections.abc import Generator, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import PIL
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from vitruvius.core import cache, files
from vitruvius.core.config import Strict
from vitruvius.core.errors import UserError, WorkFailed, reason
from vitruvius.core.records import Progress
from vitruvius.datasets import _decoder, _workers
from vitruvius.datasets._decoder import Location, Outcome
from vitruvius.datasets._listing import Picture
from vitruvius.datasets._survey import Fit, Sizes, sizes_of

VERSION = 1  # of the pixels: another decoder makes other entries
CHUNK = 2**20
VERIFIED = 2**30
"""Bytes whose checksums are compared at each start; of a larger file, chunks that are evenly spread."""
DEFAULT_LIMIT = 50.0


class Index(Strict):
    """What is known about an entry, the file KEY.json."""

    shape: tuple[int, int, int, int]
    checksums: tuple[int, ...]
    sha256: str
    """Of the names and the bytes of all pictures that could be read."""
    faults: dict[int, str]
    """Why pictures could not be read, by their number among all."""
    sizes: Sizes


def limit() -> int:
    """Return how many bytes the cache may hold; 0 switches it off."""
    text = os.environ.get("VITRUVIUS_CACHE_LIMIT", "") or str(DEFAULT_LIMIT)
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise UserError(f"VITRUVIUS_CACHE_LIMIT={text}: give the size of the cache in GB, or 0 for none")
    return int(value * 10**9)


def entry(
    pictures: Sequence[Picture], side: int, fit: Fit, label: str
) -> Generator[Progress, None, tuple[Index, NDArray[np.uint8]]]:
    """Return the pixels of these pictures, in their order; decode them first if no entry holds them."""
    folder = cache.folder("pixels")
    path = folder / f"{key(pictures, side, fit)}.pixels"
    if cache.is_closed():
        known = _intact(path)
        if known is None:
            raise UserError(f"{label}: its decoded pictures are not in {folder}, which is not changed here")
        return known, mapped(path, known.shape)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_suffix(".lock")):
            index = _read(path)
            if index is None:
                index = yield from _make(path, pictures, side, fit, label)
            os.utime(path.with_suffix(".json"))
    except OSError as error:
        cure = "XDG_CACHE_HOME moves the cache, VITRUVIUS_CACHE_LIMIT=0 decodes into memory"
        raise WorkFailed(f"cannot write {folder}: {reason(error)}; {cure}") from error
    return index, mapped(path, index.shape)


def key(pictures: Sequence[Picture], side: int, fit: Fit) -> str:
    """Return the name of an entry; any change of a picture's size or time gives another."""
    digest = hashlib.sha256(json.dumps([VERSION, PIL.__version__, side, fit]).encode())
    stamps: dict[Path, tuple[int, int]] = {}
    for picture in pictures:
        if picture.path not in stamps:
            try:
                found = os.stat(picture.path)
                stamps[picture.path] = (found.st_size, found.st_mtime_ns)
            except OSError:
                stamps[picture.path] = (-1, 0)
        stamp = [picture.name, str(picture.path), picture.offset, picture.length, *stamps[picture.path]]
        digest.update(json.dumps(stamp).encode() + b"\n")
    return digest.hexdigest()


def mapped(path: Path, shape: Sequence[int]) -> NDArray[np.uint8]:
    """Map a file of pixels into memory; nobody who writes to the array changes the file."""
    if not math.prod(shape):
        return np.empty(shape, np.uint8)
    return np.memmap(path, np.uint8, "c", shape=tuple(shape))


def locations(pictures: Sequence[Picture]) -> list[Location]:
    """Return where each picture lies; its pixels get the row of its number."""
    return [Location(row, str(p.path), p.offset, p.length) for row, p in enumerate(pictures)]


def digest(named: Iterable[tuple[str, str]]) -> str:
    """Return the checksum of pictures by name and SHA-256; the same in any order."""
    return hashlib.sha256("".join(f"{name}\0{one}\0" for name, one in sorted(named)).encode()).hexdigest()


def compact(rows_BCHW: NDArray[np.uint8], outcomes: Sequence[Outcome]) -> NDArray[np.uint8]:
    """Close the gaps of unreadable pictures, and keep one channel if all pictures are grey; in place."""
    good = [outcome for outcome in outcomes if not outcome.fault]
    channels = 1 if good and all(outcome.is_grey for outcome in good) else 3
    side = rows_BCHW.shape[-1]
    size, flat = channels * side * side, rows_BCHW.reshape(-1)
    for position, outcome in enumerate(good):
        if channels < 3 or position < outcome.row:
            flat[position * size : (position + 1) * size] = rows_BCHW[outcome.row, :channels].reshape(-1)
    return flat[: len(good) * size].reshape(len(good), channels, side, side)


def _read(path: Path) -> Index | None:
    """Return the index of an entry that is complete and undamaged; remove any other."""
    index = _intact(path)
    if index is None:
        for suffix in (".json", ".pixels", ".part"):
            path.with_suffix(suffix).unlink(missing_ok=True)
    return index


def _intact(path: Path) -> Index | None:
    """Return the index of an entry that is complete and undamaged, None of any other."""
    try:
        index = files.read_as(path.with_suffix(".json"), Index)
        is_whole = path.stat().st_size == math.prod(index.shape) and _has_its_checksums(path, index)
    except (OSError, UserError):
        return None
    return index if is_whole else None


def _has_its_checksums(path: Path, index: Index) -> bool:
    count = len(index.checksums)
    step = max(1, math.ceil(count * CHUNK / VERIFIED))
    with open(path, "rb") as file:
        for position in range(0, count, step):
            file.seek(position * CHUNK)
            if zlib.crc32(file.read(CHUNK)) != index.checksums[position]:
                return False
    return True


def _make(
    path: Path, pictures: Sequence[Picture], side: int, fit: Fit, label: str
) -> Generator[Progress, None, Index]:
    """Decode the pictures into a new entry."""
    need = len(pictures) * 3 * side * side
    _make_room(path.parent, need, label)
    part = path.with_suffix(".part")
    try:
        with open(part, "wb") as file:
            file.truncate(need)
        outcomes = yield from _decoded(part, pictures, side, fit, label)
        rows = compact(_decoder.rows(part, len(pictures), side), outcomes)
        shape = (len(rows), rows.shape[1], side, side)
        del rows  # the file can be shortened when nothing maps it
        os.truncate(part, math.prod(shape))
        index = _index(part, shape, pictures, outcomes)
        os.replace(part, path)
        files.write_json(path.with_suffix(".json"), index.model_dump(mode="json"))
        return index
    finally:
        part.unlink(missing_ok=True)


def _decoded(
    part: Path, pictures: Sequence[Picture], side: int, fit: Fit, label: str
) -> Generator[Progress, None, list[Outcome]]:
    target = _workers.Target(part, len(pictures), side, fit)
    found: list[Outcome] = []
    for outcomes in _workers.decode(locations(pictures), target, _workers.cores()):
        found += outcomes
        yield Progress(done=len(found), total=len(pictures), label=f"decoding {label}")
    return sorted(found)


def _index(
    part: Path, shape: tuple[int, int, int, int], pictures: Sequence[Picture], outcomes: Sequence[Outcome]
) -> Index:
    good = [outcome for outcome in outcomes if not outcome.fault]
    with open(part, "rb") as file:
        checksums = tuple(zlib.crc32(chunk) for chunk in iter(lambda: file.read(CHUNK), b""))
        os.fsync(file.fileno())
    return Index(
        shape=shape,
        checksums=checksums,
        sha256=digest((pictures[outcome.row].name, outcome.sha256) for outcome in good),
        faults={outcome.row: outcome.fault for outcome in outcomes if outcome.fault},
        sizes=sizes_of([(outcome.width, outcome.height, outcome.is_grey) for outcome in good]),
    )


def _make_room(folder: Path, need: int, label: str) -> None:
    """Remove the entries that were not used for longest; refuse what the limit or the disk cannot hold."""
    most = limit()
    cure = "choose a smaller side (PATH@SIDE)"
    if need > most:
        why = f"the cache holds {most / 10**9:,.1f} GB (VITRUVIUS_CACHE_LIMIT)"
        raise UserError(f"{label}: {need / 10**9:,.1f} GB of pixels, {why}; {cure}")
    _remove_stale_parts(folder)
    held = {path: path.stat().st_size for path in folder.glob("*.pixels")}
    for path in sorted(held, key=_last_use):
        if sum(held.values()) + need <= most:
            break
        path.with_suffix(".json").unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        del held[path]
    free = shutil.disk_usage(folder).free
    if need > free:
        where = f"{folder} has {free / 10**9:,.1f} GB left (XDG_CACHE_HOME moves it)"
        raise UserError(f"{label}: {need / 10**9:,.1f} GB of pixels, {where}; {cure}")


def _last_use(path: Path) -> float:
    """Return when an entry was last used."""
    index = path.with_suffix(".json")
    return index.stat().st_mtime if index.exists() else 0.0


def _remove_stale_parts(folder: Path) -> None:
    """Remove what killed processes have left: parts whose lock nobody holds."""
    for part in list(folder.glob("*.part")):
        with suppress(Timeout), FileLock(part.with_suffix(".lock"), timeout=0):
            part.unlink(missing_ok=True)
