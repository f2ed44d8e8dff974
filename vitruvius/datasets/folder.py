"""Your own pictures, PNG and JPEG: `folder:PATH` or, for sides of 64 instead of 32 pixels, `folder:PATH@64`.

PATH holds `train`, `val` (or `validation`) and `test` with a folder per class in each; or the folders of the
classes, which are then divided by the seed; or pictures without labels. Classes are numbered by their sorted
names. A folder whose own name ends in @NUMBER is written with a second one: `folder:pictures@2024@32`.
"""

import hashlib
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from vitruvius.core.errors import UserError, reason
from vitruvius.datasets import Dataset, Split, _images, _paths, _samples, stratified_order

SIDE, LARGEST_SIDE = 32, 4096
FRACTION = 0.1  # fraction of an undivided set for validation, and for test
PARTS = {"train": "train", "val": "validation", "validation": "validation", "test": "test"}
SUFFIXES = (".png", ".jpg", ".jpeg")


class Picture(NamedTuple):
    """A picture file and its class, the name of its folder ('' in a flat folder)."""

    path: Path
    kind: str


def folder(
    path: str, *, data_dir: str | None = None, validation: int | None = None, seed: int = 0
) -> Dataset:
    """Load the pictures below a path (relative to `data_dir` if one is given), resized to squares.

    An undivided set gives a tenth each to validation and test, chosen by `seed` in proportion to the classes;
    `train` gives a tenth to validation if there is no `val`. Without a `test` the test part of a divided set
    is empty. The pictures have three channels unless all of them are grey.
    """
    name, side = _side(path)
    root = (_paths.expand_home(data_dir or ".") / _paths.expand_home(name)).resolve()
    parts = _divided(_parts(root), validation, seed)
    classes = _classes(root, parts)
    pictures = [picture for part in parts for picture in part]
    x, digest = _decoded(root, pictures, side)
    number = {kind: index for index, kind in enumerate(classes)}
    cuts = [len(parts[0]), len(parts[0]) + len(parts[1])]
    labels: tuple[Tensor | None, ...] = (None, None, None)
    if classes:
        labels = torch.tensor([number[picture.kind] for picture in pictures]).tensor_split(cuts)
    train, put_aside, test = (Split(*both) for both in zip(x.tensor_split(cuts), labels, strict=True))
    mean, std = _samples.mean_std(train.x)
    source = f"{len(pictures):,} pictures of {len(classes) or 'unknown'} classes from {root}"
    return Dataset(f"folder:{name}@{side}", train, put_aside, test, classes, mean, std, source, digest)


def _side(path: str) -> tuple[str, int]:
    """Split the argument into the path and the side in pixels.

    >>> _side("pets@64"), _side("me@home")
    (('pets', 64), ('me@home', 32))
    """
    name, _, number = path.rpartition("@")
    if not (name and number.isdecimal()):
        return path, SIDE
    side = int(number[:9])
    if not 1 <= side <= LARGEST_SIDE:
        raise UserError(f"folder:{path}: a side of {number} pixels, 1 to {LARGEST_SIDE} are possible")
    return name, side


def _divided(parts: dict[str, list[Picture]], validation: int | None, seed: int) -> list[list[Picture]]:
    """Return the pictures for training, validation and test; split at random what no folder divides."""
    if "validation" in parts and validation is not None:
        why = "this folder has its own validation part, leave the number out"
        raise UserError(f"validation {validation}: {why}")
    pool = parts["all"] if "all" in parts else parts["train"]
    tenth = round(FRACTION * len(pool))
    tests = tenth if "all" in parts else 0
    aside = 0 if "validation" in parts else _samples.validation_size(validation, tenth, len(pool) - tests)
    order = stratified_order([picture.kind for picture in pool], seed)
    drawn = [order[tests + aside :], order[tests : tests + aside], order[:tests]]
    train, put_aside, test = ([pool[position] for position in sorted(positions)] for positions in drawn)
    return [train, parts.get("validation", put_aside), parts.get("test", test)]


def _classes(root: Path, parts: list[list[Picture]]) -> tuple[str, ...]:
    """Return the sorted class names; refuse a class without a training picture."""
    counts = Counter(picture.kind for part in parts for picture in part)
    trained = {picture.kind for picture in parts[0]}
    missing = [f"'{kind}' ({count} in all)" for kind, count in sorted(counts.items()) if kind not in trained]
    if missing:
        raise UserError(f"folder {root}: no picture is left to train {_some(missing)}")
    return tuple(sorted(kind for kind in counts if kind))


def _decoded(root: Path, pictures: list[Picture], side: int) -> tuple[Tensor, str]:
    """Decode all pictures (B, C, side, side); return them and a checksum that is the same for any split."""
    count, what = len(pictures), f"pictures of 3 x {side} x {side} bytes"
    _samples.refuse_if_too_big(f"folder {root}: {count:,} {what}", 3 * count * side**2)
    x_BCHW = np.empty((count, 3, side, side), np.uint8)
    is_grey, digests, unreadable = True, {}, []
    for position, (path, _) in enumerate(pictures):
        name = str(path.relative_to(root))
        try:
            data = _images.read(path)
            pixels_CHW = _images.decode(data, side)
        except UserError as error:
            unreadable.append(f"{name} ({error})")
            continue
        x_BCHW[position] = pixels_CHW  # a grey picture fills the three channels
        is_grey = is_grey and len(pixels_CHW) == 1
        digests[name] = hashlib.sha256(data).hexdigest()
    if unreadable:
        faults = f"{len(unreadable):,} of {count:,} files unread: {_some(unreadable)}"
        raise UserError(f"folder {root}: {faults}")
    digest = hashlib.sha256("".join(f"{name}\0{digests[name]}\0" for name in sorted(digests)).encode())
    return torch.from_numpy(x_BCHW[:, :1].copy() if is_grey else x_BCHW), digest.hexdigest()


def _parts(root: Path) -> dict[str, list[Picture]]:
    """Return the pictures of `train`, `validation` and `test`, or of `all` if the folder is not divided.

    Hidden files are left out; every other file in a folder of pictures counts as one: none is lost silently.
    """
    try:
        if not root.is_dir():
            raise UserError(f"folder {root}: no such folder")
        if not (root / "train").is_dir():
            return {"all": _pictures(root, root)}
        return _splits(root)
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        raise UserError(f"folder {root}: {reason(error) if isinstance(error, OSError) else error}") from error


def _splits(root: Path) -> dict[str, list[Picture]]:
    """Return the pictures of each split; other folders beside `train` are refused: it could be a class."""
    beside = [entry for entry in _visible(root, root) if entry.name not in PARTS]
    odd = [entry.name for entry in beside if entry.is_dir() or entry.suffix.lower() in SUFFIXES]
    if odd:
        read = "beside train only val (or validation) and test are read"
        raise UserError(f"folder {root}: {read}, not {_some(odd)}")
    found: dict[str, list[Picture]] = {}
    for name, part in PARTS.items():
        if (root / name).is_dir():
            if part in found:
                raise UserError(f"folder {root}: has both val and validation, keep one")
            found[part] = _pictures(_inside(root / name, root), root)
    known = {picture.kind for picture in found["train"]}
    for part, pictures in found.items():
        strange = {picture.kind for picture in pictures} - known
        if strange:
            names = _some(sorted(name or "pictures outside the folders of classes" for name in strange))
            raise UserError(f"folder {root}: {part} has {names}, which train has not")
    return found


def _pictures(folder: Path, root: Path) -> list[Picture]:
    entries = _visible(folder, root)
    kinds = [entry for entry in entries if entry.is_dir()]
    if not kinds:
        if not entries:
            raise UserError(f"folder {folder}: holds no pictures and no folders of pictures")
        return [Picture(path, "") for path in entries]
    stray = [entry.name for entry in entries if entry.suffix.lower() in SUFFIXES and entry not in kinds]
    if stray:
        raise UserError(f"folder {folder}: has folders of classes and pictures beside them: {_some(stray)}")
    pictures = {kind.name: _visible(kind, root) for kind in kinds}
    empty = [name for name, paths in pictures.items() if not paths]
    if empty:
        raise UserError(f"folder {folder}: no pictures of {_some(empty)}")
    return [Picture(path, name) for name, paths in pictures.items() for path in paths]


def _visible(folder: Path, root: Path) -> list[Path]:
    """Return the entries of a folder without hidden ones, sorted by name."""
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    return [_inside(entry, root) for entry in entries]


def _inside(entry: Path, root: Path) -> Path:
    """Return the entry; refuse a link that leads out of the root."""
    if entry.is_symlink() and not entry.resolve().is_relative_to(root):
        raise UserError(f"folder {root}: {entry.relative_to(root)} is a link that leads out of the folder")
    return entry


def _some(names: list[str]) -> str:
    """List at most ten names and the number of the others."""
    more = f" and {len(names) - 10:,} more" if len(names) > 10 else ""
    return ", ".join(names[:10]) + more
