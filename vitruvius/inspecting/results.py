"""What a look at a data set finds: its table, and pictures that occur in two parts. No torch."""

from collections.abc import Iterable

from vitruvius.core import records
from vitruvius.core.blocks import Block, Table, Text
from vitruvius.core.config import Strict
from vitruvius.core.counted import counted
from vitruvius.datasets import Survey

SHOWN = 10  # pairs that are listed


class Duplicate(Strict):
    """Two pictures of two parts that show the same."""

    part: str
    name: str
    other_part: str
    other: str
    correlation: float
    """Of their pixels at 32 x 32; 1 for the same picture, also brighter or darker."""


class Comparison(Strict):
    """How pictures of different parts were compared."""

    duplicates: tuple[Duplicate, ...] = ()
    images: int = 0
    """Pictures that were compared, those without any contrast left out."""
    left_out: int = 0
    """Pictures beyond the limit, which were not looked at."""
    is_complete: bool = True
    """Whether all pairs with similar hashes were compared before the limit was reached."""

    def count(self, part: str) -> int:
        """Return how many pictures of a part occur in an earlier part."""
        return len({pair.other for pair in self.duplicates if pair.other_part == part})


class Result(records.Result):
    """The table of a data set, near-duplicates between its parts, and where the pages lie."""

    survey: Survey
    comparison: Comparison
    run: str

    @property
    def exit_code(self) -> int:
        """1 if there are files that would stop a training, else 0."""
        return int(bool(self.survey.files and self.survey.files.bad))

    @property
    def verdict(self) -> str:
        """Say first what matters most for a training on these data."""
        bad = len(self.survey.files.bad) if self.survey.files else 0
        if bad:
            return f"{bad:,} unreadable: a training stops before it begins, unless with --skip-bad"
        counts = {part: self.comparison.count(part) for part in ("validation", "test")}
        shared = [counted(count, f"{part} image") for part, count in counts.items() if count]
        if shared:
            return f"near-duplicates of others: {' and '.join(shared)}; accuracies on them flatter"
        labelled = (
            "a classifier can be trained" if len(self.survey.classes) > 1 else "there are no classes to learn"
        )
        return f"all files are readable, {labelled}"

    def view(self) -> Iterable[Block]:
        yield Text(text=self.verdict, style="title")
        yield from self.survey.view()
        yield from self.duplicates()
        yield Text(text=f"examples of every class: {self.run}/report.html", style="note")

    def duplicates(self) -> Iterable[Block]:
        """Show the pairs of near-duplicates and what was not compared."""
        pairs, about = self.comparison.duplicates, self.comparison
        if pairs:
            rows = tuple(
                (pair.part, pair.name, pair.other_part, pair.other, pair.correlation)
                for pair in pairs[:SHOWN]
            )
            more = f"{len(pairs) - SHOWN:,} more in duplicates.csv" if len(pairs) > SHOWN else ""
            columns = ("part", "image", "other part", "near-duplicate", "correlation")
            yield Table(title="Near-duplicates between parts", columns=columns, rows=rows, note=more)
        if about.left_out:
            text = (
                f"near-duplicates were sought among {about.images:,} images, {about.left_out:,} were left out"
            )
            yield Text(text=text, style="note")
        if not about.is_complete:
            yield Text(text="too many images are alike: not all pairs were compared", style="note")
