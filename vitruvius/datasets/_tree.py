"""The layouts of a folder of pictures: splits with classes, classes alone, or pictures alone."""

from pathlib import Path
from typing import NamedTuple

from vitruvius.core.errors import UserError, reason

PARTS = {"train": "train", "val": "validation", "validation": "validation", "test": "test"}
SUFFIXES = (".png", ".jpg", ".jpeg")


class Picture(NamedTuple):
    """A picture file and its class, the name of its folder ('' in a flat folder)."""

    path: Path
    kind: str


def parts(root: Path) -> dict[str, list[Picture]]:
    """Return the pictures of `train`, `validation` and `test`, or of `all` if the folder is not divided.

    Hidden files are left out; every other file in a folder of pictures counts as one, so that none is lost
    silently.
    """
    try:
        if not root.is_dir():
            raise UserError(f"folder {root}: no such folder")
        if not (root / "train").is_dir():
            return {"all": _pictures(root, root)}
        return _divided(root)
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        raise UserError(f"folder {root}: {reason(error) if isinstance(error, OSError) else error}") from error


def _divided(root: Path) -> dict[str, list[Picture]]:
    """Return the pictures of each split; other folders beside `train` are refused: it could be a class."""
    beside = [entry for entry in _visible(root, root) if entry.name not in PARTS]
    odd = [entry.name for entry in beside if entry.is_dir() or entry.suffix.lower() in SUFFIXES]
    if odd:
        read = "beside train only val (or validation) and test are read"
        raise UserError(f"folder {root}: {read}, not {some(odd)}")
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
            names = some(sorted(name or "pictures outside the folders of classes" for name in strange))
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
        raise UserError(f"folder {folder}: has folders of classes and pictures beside them: {some(stray)}")
    pictures = {kind.name: _visible(kind, root) for kind in kinds}
    empty = [name for name, paths in pictures.items() if not paths]
    if empty:
        raise UserError(f"folder {folder}: no pictures of {some(empty)}")
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


def some(names: list[str]) -> str:
    """List at most ten names and the number of the others."""
    more = f" and {len(names) - 10:,} more" if len(names) > 10 else ""
    return ", ".join(names[:10]) + more
