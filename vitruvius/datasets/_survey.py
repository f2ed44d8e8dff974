"""What a data set holds, in one table: classes, parts, sizes, imbalance, files that are odd. No torch."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from vitruvius.core.blocks import Block, Cell, Table, Text
from vitruvius.core.config import Strict
from vitruvius.core.counted import counted
from vitruvius.core.records import Record

Fit = Literal["squash", "crop", "pad"]
PARTS = ("train", "validation", "test")
MOST_ROWS = 20  # classes that are listed one by one
FEW = 20  # training samples of a class below which it is said to have few
UNEQUAL = 3  # times as many samples of one class as of another, from which classes are said to be unequal
NAMED = 10  # files that are named


class Sizes(Strict):
    """The sizes of pictures as they are stored, held upright."""

    smallest: tuple[int, int] = (0, 0)
    median: tuple[int, int] = (0, 0)
    """Width and height of the picture in the middle, by area."""
    largest: tuple[int, int] = (0, 0)
    different: int = 0
    grey: int = 0
    """Pictures without colour."""


class PictureFiles(Strict):
    """What was found on disk: sizes, how pictures became squares, and files that were left out."""

    sizes: Sizes
    side: int
    fit: Fit
    side_is_chosen: bool
    """Whether the side was chosen by the rules of --arch auto."""
    foreign: tuple[str, ...] = ()
    bad: tuple[str, ...] = ()


class Survey(Record):
    """The table of a data set."""

    name: str
    classes: tuple[str, ...]
    counts: dict[str, tuple[int, ...]]
    """By part: samples of each class; one number in all without labels."""
    shape: tuple[int, ...]
    files: PictureFiles | None = None

    def view(self) -> Iterable[Block]:
        """Show the answer first: how many of what; then the table, then what is odd."""
        total = {part: sum(counts) for part, counts in self.counts.items()}
        shape = " x ".join(map(str, self.shape))
        of = f" of {counted(len(self.classes), 'class')}" if self.classes else " without labels"
        samples = counted(sum(total.values()), "sample")
        yield Text(text=f"{self.name}: {samples}{of}, {shape}", style="title")
        note = "the commonest classes first" if len(self.classes) > MOST_ROWS else ""
        yield Table(columns=("class", *self.counts, "all"), rows=tuple(self._rows()), note=note)
        for sentence in (*self._sizes(), *self.remarks()):
            yield Text(text=sentence, style="note")

    def remarks(self) -> list[str]:
        """Return what a person should know before training on these data."""
        found = [*self._balance(), *self._left_out()]
        found += [f"there are no {part} samples" for part in PARTS[1:] if not sum(self.counts[part])]
        return found

    def _rows(self) -> Iterable[tuple[Cell, ...]]:
        columns = [self.counts[part] for part in self.counts]
        names = self.classes or ("(no labels)",)
        rows = [(name, *counts, sum(counts)) for name, *counts in zip(names, *columns, strict=True)]
        if len(rows) > MOST_ROWS:
            rows.sort(key=lambda row: -row[1])
            middle = rows[MOST_ROWS // 2 : -MOST_ROWS // 2]
            sums = [sum(row[column] for row in middle) for column in range(1, len(rows[0]))]
            rows = [*rows[: MOST_ROWS // 2], (f"({len(middle)} others)", *sums), *rows[-MOST_ROWS // 2 :]]
        yield from rows
        if self.classes:
            totals = [sum(column) for column in columns]
            yield ("all", *totals, sum(totals))

    def _sizes(self) -> Iterable[str]:
        if self.files is None:
            return
        about, sizes = self.files, self.files.sizes
        between = (
            f"{_times(sizes.smallest)} to {_times(sizes.largest)}, the middle one {_times(sizes.median)}"
        )
        square = (about.side, about.side)
        chosen = "chosen for them; @SIDE behind the name sets another" if about.side_is_chosen else "as asked"
        if sizes.different == 1 and sizes.largest == square:
            yield f"all pictures have {_times(square)} pixels and are read as they are"
            return
        text = between if sizes.different > 1 else f"all {_times(sizes.largest)}"
        how = {"crop": "the centre cropped", "pad": "padded", "squash": "squashed"}[about.fit]
        yield f"pictures of {text} pixels; scaled to {_times(square)} ({chosen}), {how}"

    def _balance(self) -> Iterable[str]:
        counts = dict(zip(self.classes, self.counts["train"], strict=False))
        if not counts:
            return
        most, least = max(counts, key=counts.__getitem__), min(counts, key=counts.__getitem__)
        if counts[most] >= UNEQUAL * counts[least]:
            ratio = f"{counts[most]:,} of '{most}', {counts[least]:,} of '{least}'"
            share = counts[most] / max(1, sum(counts.values()))
            always = f"always answering '{most}' is right in {share:.0%}"
            yield f"the classes are unequal ({ratio}): {always}"
        few = [name for name, count in counts.items() if count < FEW]
        if few:
            yield f"fewer than {FEW} training samples: {some(few)}"

    def _left_out(self) -> Iterable[str]:
        if self.files is None:
            return
        if self.files.bad:
            yield f"{len(self.files.bad):,} unreadable, left out: {some(self.files.bad)}"
        if self.files.foreign:
            yield f"{len(self.files.foreign):,} other files, left out: {some(self.files.foreign)}"


def sizes_of(found: Sequence[tuple[int, int, bool]]) -> Sizes:
    """Return the summary of pictures by width, height and whether they are grey.

    >>> sizes_of([(2, 3, False), (9, 9, True), (4, 4, False)]).median
    (4, 4)
    """
    if not found:
        return Sizes()
    counts = Counter((width, height) for width, height, _ in found)
    ordered = sorted(counts, key=lambda size: (size[0] * size[1], size))
    seen, median = 0, ordered[0]
    for median in ordered:
        seen += counts[median]
        if 2 * seen > len(found):
            break
    grey = sum(is_grey for *_, is_grey in found)
    return Sizes(smallest=ordered[0], median=median, largest=ordered[-1], different=len(ordered), grey=grey)


def _times(size: tuple[int, int]) -> str:
    return f"{size[0]} x {size[1]}"


def some(names: Iterable[str]) -> str:
    """List at most ten names and the number of the others."""
    listed = list(names)
    more = f" and {len(listed) - NAMED:,} more" if len(listed) > NAMED else ""
    return ", ".join(listed[:NAMED]) + more
