"""From pictures that were found to a data set: divided, decoded into memory or into the cache, checked."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vitruvius.arch import auto
from vitruvius.core.counted import counted
from vitruvius.core.errors import UserError
from vitruvius.core.records import Progress
from vitruvius.datasets import (
    Dataset,
    Fit,
    Split,
    _cache,
    _decoder,
    _images,
    _listing,
    _samples,
    stratified_order,
)
from vitruvius.datasets._listing import Found, Picture
from vitruvius.datasets._survey import PictureFiles, Sizes, sizes_of

IN_MEMORY, IN_MEMORY_BYTES = 2_000, 2**28
"""Pictures, and bytes of their pixels, up to which they are decoded at each start and kept in memory."""
HEADERS = 200  # pictures whose size decides the side


class Options(NamedTuple):
    """How found pictures become a data set."""

    validation: int | None = None
    seed: int = 0
    fit: Fit = "crop"
    skip_bad: bool = False
    limit: int | None = None  # at most so many pictures, all of them for training


class Pixels(NamedTuple):
    """The pictures that could be read, as bytes (B, C, side, side), and the faults of the others."""

    x: NDArray[np.uint8]
    sha256: str
    faults: dict[int, str]  # by the number among all pictures
    sizes: Sizes


class Selection(NamedTuple):
    """Which pictures are decoded to which side."""

    parts: list[list[Picture]]
    classes: tuple[str, ...]
    side: int

    @property
    def pictures(self) -> list[Picture]:
        """Return the pictures of all parts in one list."""
        return [picture for part in self.parts for picture in part]


def decoding(found: Found, options: Options) -> Iterator[Progress]:
    """Decode the pictures into the cache, if they are so many that they go there."""
    selection = _selection(found, options)
    if not _fits_memory(len(selection.pictures), selection.side):
        yield from _cache.entry(selection.pictures, selection.side, options.fit, found.name)


def dataset(found: Found, options: Options) -> Dataset:
    """Decode what is not yet decoded and return the data set."""
    parts, classes, side = selection = _selection(found, options)
    pictures = selection.pictures
    pixels = _pixels(pictures, side, options.fit, found)
    bad = tuple(f"{pictures[row].name} ({fault})" for row, fault in sorted(pixels.faults.items()))
    if bad and not options.skip_bad:
        faults = f"{len(bad):,} of {len(pictures):,} files unread: {_listing.some(bad)}"
        raise UserError(f"{found.where}: {faults}; --skip-bad leaves them out")
    good = [[p for row, p in _rows(parts, part) if row not in pixels.faults] for part in range(3)]
    trained = {picture.kind for picture in good[0]}
    if gone := [kind for kind in classes if kind not in trained and options.limit is None]:
        raise UserError(f"{found.where}: no readable picture is left to train {_listing.some(gone)}")
    train, put_aside, test = _splits(torch.from_numpy(pixels.x), good, classes)
    mean, std = _samples.mean_std(train.x)
    about = PictureFiles(
        sizes=pixels.sizes,
        side=side,
        fit=options.fit,
        side_is_chosen=found.side is None,
        foreign=found.foreign,
        bad=bad,
    )
    of = counted(len(classes), "class") if classes else "unknown classes"
    source = f"{counted(sum(map(len, good)), 'picture')} of {of} from {found.where}"
    return Dataset(
        f"{found.name}@{side}",
        train,
        put_aside,
        test,
        classes=classes,
        mean=mean,
        std=std,
        source=source,
        sha256=pixels.sha256,
        fit=options.fit,
        files=about,
    )


def _selection(found: Found, options: Options) -> Selection:
    parts = _listing.divided(found, options.validation, options.seed)
    classes = _listing.classes(found.where, parts)
    side = found.side or auto.image_side(_shorter_sides(parts[0]), len(parts[0]))
    if options.limit is not None and len(parts[0]) > options.limit:
        order = stratified_order([picture.kind for picture in parts[0]], options.seed)
        parts = [[parts[0][row] for row in sorted(order[: options.limit])], [], []]
    return Selection(parts, classes, side)


def _shorter_sides(pictures: Sequence[Picture]) -> list[int]:
    """Return the shorter sides of some evenly spread pictures, by their headers."""
    found = []
    for picture in pictures[:: max(1, len(pictures) // HEADERS)]:
        with suppress(UserError):  # it is named when it is decoded
            found.append(min(_images.size(picture.path, picture.offset, picture.length)))
    return found


def _rows(parts: Sequence[Sequence[Picture]], part: int) -> list[tuple[int, Picture]]:
    first = sum(map(len, parts[:part]))
    return list(enumerate(parts[part], first))


def _splits(x_BCHW: Tensor, parts: Sequence[Sequence[Picture]], classes: tuple[str, ...]) -> list[Split]:
    """Cut the pixels into the three parts, without a copy."""
    number = {kind: index for index, kind in enumerate(classes)}
    splits, start = [], 0
    for part in parts:
        x = x_BCHW[start : start + len(part)]
        labels = [number[picture.kind] for picture in part] if classes else None
        y = None if labels is None else torch.tensor(labels, dtype=torch.long)
        splits.append(Split(x, y, tuple(picture.name for picture in part)))
        start += len(part)
    return splits


def _pixels(pictures: Sequence[Picture], side: int, fit: Fit, found: Found) -> Pixels:
    """Decode the pictures, small sets into memory and large ones into the cache; the bytes are the same."""
    if _fits_memory(len(pictures), side):
        what = f"{len(pictures):,} pictures of 3 x {side} x {side} bytes"
        _samples.refuse_if_too_big(f"{found.where}: {what}", len(pictures) * 3 * side * side)
        return _in_memory(pictures, side, fit)
    work = _cache.entry(pictures, side, fit, found.name)
    while True:
        try:
            next(work)
        except StopIteration as end:
            index, x = end.value
            return Pixels(x, index.sha256, index.faults, index.sizes)


def _fits_memory(count: int, side: int) -> bool:
    """Whether so many pictures are decoded into memory: few ones, or all if the cache is switched off."""
    is_small = count <= IN_MEMORY and count * 3 * side * side <= IN_MEMORY_BYTES
    return is_small or not _cache.limit()


def _in_memory(pictures: Sequence[Picture], side: int, fit: Fit) -> Pixels:
    rows = np.zeros((len(pictures), 3, side, side), np.uint8)
    outcomes = [_decoder.decode(location, rows, fit) for location in _cache.locations(pictures)]
    good = [outcome for outcome in outcomes if not outcome.fault]
    return Pixels(
        _cache.compact(rows, outcomes).copy(),
        _cache.digest((pictures[outcome.row].name, outcome.sha256) for outcome in good),
        {outcome.row: outcome.fault for outcome in outcomes if outcome.fault},
        sizes_of([(outcome.width, outcome.height, outcome.is_grey) for outcome in good]),
    )
