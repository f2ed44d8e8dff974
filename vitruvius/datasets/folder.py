"""Your own pictures in folders: `folder:PATH`, or `folder:PATH@64` for squares of 64 pixels.

PATH holds `train`, `val` (or `validation`) and `test` with a folder per class in each; or the folders of the
classes, which are then divided by the seed; or pictures without labels. Classes are numbered by their sorted
names; the folders inside a class belong to it. Without @SIDE the side is chosen by the sizes of the pictures.
A folder whose own name ends in @NUMBER is written with a second one: `folder:pictures@2024@32`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vitruvius.core.errors import UserError, reason
from vitruvius.core.records import Progress
from vitruvius.datasets import Dataset, _images, _listing, _paths, _pictures
from vitruvius.datasets._listing import PARTS, Found, Picture

READS_PICTURES = True


def folder(path: str, *, data_dir: str | None = None, **options: Any) -> Dataset:
    """Load the pictures below a path (relative to `data_dir` if one is given) as squares.

    An undivided set gives a tenth each to validation and test, chosen by `seed` in proportion to the classes;
    `train` gives a tenth to validation if there is no `val`. Without a `test` the test part of a divided set
    is empty. The pictures have three channels unless all of them are grey. At most `limit` pictures are read.
    """
    return _pictures.dataset(find(path, data_dir), _pictures.Options(**options))


def decode(path: str, *, data_dir: str | None = None, **options: Any) -> Iterator[Progress]:
    """Decode the pictures into the cache, if they are many."""
    return _pictures.decoding(find(path, data_dir), _pictures.Options(**options))


def find(path: str, data_dir: str | None = None) -> Found:
    """List the pictures of `train`, `validation` and `test`, or of `all` if the folder is not divided.

    Hidden files are left out, files that are no pictures are listed.
    """
    name, side = _listing.split_side(path, "folder")
    root = (_paths.expand_home(data_dir or ".") / _paths.expand_home(name)).resolve()
    foreign: list[str] = []
    try:
        if not root.is_dir():
            raise UserError(f"folder {root}: no such folder")
        if (root / "train").is_dir():
            parts = _splits(root, foreign)
        else:
            parts = {"all": _of_classes(root, root, foreign)}
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        raise UserError(f"folder {root}: {reason(error) if isinstance(error, OSError) else error}") from error
    return Found(f"folder:{name}", f"folder {root}", parts, side, tuple(foreign))


def _splits(root: Path, foreign: list[str]) -> dict[str, list[Picture]]:
    """Return the pictures of each split; other folders beside `train` are refused: it could be a class."""
    beside = [entry for entry in _visible(root, root) if entry.name not in PARTS]
    odd = [entry.name for entry in beside if entry.is_dir() or _is_picture(entry)]
    if odd:
        read = "beside train only val (or validation) and test are read"
        raise UserError(f"folder {root}: {read}, not {_listing.some(odd)}")
    foreign += [entry.name for entry in beside]
    found: dict[str, list[Picture]] = {}
    for name, part in PARTS.items():
        if (root / name).is_dir():
            if part in found:
                raise UserError(f"folder {root}: has both val and validation, keep one")
            found[part] = _of_classes(_inside(root / name, root), root, foreign)
    _listing.refuse_strange(f"folder {root}", found)
    return found


def _of_classes(folder: Path, root: Path, foreign: list[str]) -> list[Picture]:
    """Return the pictures in the folders of the classes, or those of a folder without classes."""
    entries = _visible(folder, root)
    kinds = [entry for entry in entries if entry.is_dir()]
    pictures = [entry for entry in entries if entry not in kinds and _is_picture(entry)]
    foreign += [_name(entry, root) for entry in entries if entry not in kinds and entry not in pictures]
    if not kinds and not pictures:
        raise UserError(f"folder {folder}: holds no pictures and no folders of pictures")
    if not kinds:
        return [Picture(_name(path, root), "", path) for path in pictures]
    if pictures:
        stray = _listing.some(path.name for path in pictures)
        raise UserError(f"folder {folder}: has folders of classes and pictures beside them: {stray}")
    found = {kind.name: _below(kind, root, foreign) for kind in kinds}
    empty = [name for name, paths in found.items() if not paths]
    if empty:
        raise UserError(f"folder {folder}: no pictures of {_listing.some(empty)}")
    return [Picture(_name(path, root), kind, path) for kind, paths in found.items() for path in paths]


def _below(folder: Path, root: Path, foreign: list[str]) -> list[Path]:
    """Return the pictures in a folder and in the folders inside it."""
    found = []
    for entry in _visible(folder, root):
        if entry.is_dir():
            if entry.is_symlink():
                raise UserError(f"folder {root}: {_name(entry, root)} is a link to a folder inside a class")
            found += _below(entry, root, foreign)
        elif _is_picture(entry):
            found.append(entry)
        else:
            foreign.append(_name(entry, root))
    return found


def _is_picture(path: Path) -> bool:
    return path.suffix.lower() in _images.SUFFIXES


def _name(path: Path, root: Path) -> str:
    return str(path.relative_to(root))


def _visible(folder: Path, root: Path) -> list[Path]:
    """Return the entries of a folder without hidden ones, sorted by name."""
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    return [_inside(entry, root) for entry in entries]


def _inside(entry: Path, root: Path) -> Path:
    """Return the entry; refuse a link that leads out of the root."""
    if entry.is_symlink() and not entry.resolve().is_relative_to(root):
        raise UserError(f"folder {root}: {entry.relative_to(root)} is a link that leads out of the folder")
    return entry
