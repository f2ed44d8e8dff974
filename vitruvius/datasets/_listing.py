"""Pictures that were found but not yet read: where each lies, its class and its part."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from vitruvius.core.errors import UserError
from vitruvius.datasets import stratified_order
from vitruvius.datasets._survey import some as some

FRACTION = 0.1  # fraction of an undivided set for validation, and for test
PARTS = {"train": "train", "val": "validation", "validation": "validation", "test": "test"}
SIDE_LIMIT = 4096


class Picture(NamedTuple):
    """A picture, which may lie inside a larger file: shown name, class ('' without labels) and location."""

    name: str
    kind: str
    path: Path
    offset: int = 0
    length: int | None = None  # None: the whole file


@dataclass(frozen=True)
class Found:
    """The pictures of `train`, `validation` and `test`, or of `all` where nothing divides them."""

    name: str  # as in results: 'folder:photos'
    where: str  # as in errors: 'folder photos'
    parts: dict[str, list[Picture]]
    side: int | None = None  # what the user asked for
    foreign: tuple[str, ...] = ()  # files that are no pictures


def split_side(argument: str, member: str) -> tuple[str, int | None]:
    """Split an argument into the path and the side in pixels, None if there is none.

    >>> split_side("pets@64", "folder"), split_side("me@home", "folder")
    (('pets', 64), ('me@home', None))
    """
    name, _, number = argument.rpartition("@")
    if not (name and number.isdecimal()):
        return argument, None
    side = int(number[:9])
    if not 1 <= side <= SIDE_LIMIT:
        raise UserError(f"{member}:{argument}: a side of {number} pixels, 1 to {SIDE_LIMIT} are possible")
    return name, side


def divided(found: Found, validation: int | None, seed: int) -> list[list[Picture]]:
    """Return the pictures for training, validation and test; split at random what nothing divides."""
    parts = found.parts
    if "validation" in parts and validation is not None:
        why = f"this {found.name.partition(':')[0]} has its own validation part, leave the number out"
        raise UserError(f"validation {validation}: {why}")
    pool = parts["all"] if "all" in parts else parts["train"]
    tenth = round(FRACTION * len(pool))
    tests = tenth if "all" in parts else 0
    aside = 0 if "validation" in parts else validation_size(validation, tenth, len(pool) - tests)
    order = stratified_order([picture.kind for picture in pool], seed)
    drawn = [order[tests + aside :], order[tests : tests + aside], order[:tests]]
    train, put_aside, test = ([pool[position] for position in sorted(positions)] for positions in drawn)
    return [train, parts.get("validation", put_aside), parts.get("test", test)]


def validation_size(asked: int | None, default: int, available: int) -> int:
    """Return the number of validation samples; refuse one that leaves nothing to train on."""
    size = default if asked is None else asked
    if not 0 <= size < available:
        possible = f"0 to {available - 1:,} can be put aside"
        raise UserError(f"validation {size}: of {available:,} training samples {possible}")
    return size


def classes(where: str, parts: list[list[Picture]]) -> tuple[str, ...]:
    """Return the sorted class names; refuse a class without a training picture."""
    counts = Counter(picture.kind for part in parts for picture in part)
    trained = {picture.kind for picture in parts[0]}
    missing = [f"'{kind}' ({count} in all)" for kind, count in sorted(counts.items()) if kind not in trained]
    if missing:
        raise UserError(f"{where}: no picture is left to train {some(missing)}")
    return tuple(sorted(kind for kind in counts if kind))


def refuse_strange(where: str, parts: dict[str, list[Picture]]) -> None:
    """Refuse classes that only validation or test has."""
    known = {picture.kind for picture in parts["train"]}
    for part, pictures in parts.items():
        if strange := {picture.kind for picture in pictures} - known:
            names = some(sorted(name or "pictures outside the folders of classes" for name in strange))
            raise UserError(f"{where}: {part} has {names}, which train has not")
