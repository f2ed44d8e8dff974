"""What an export reports: what was written, and how the written model differs from the run. No torch."""

from collections.abc import Iterable

from vitruvius.core import records
from vitruvius.core.blocks import Block, Table, Text
from vitruvius.core.config import Strict
from vitruvius.core.counted import counted

LARGEST_DIFFERENCE = 1e-4
"""Scores of a float32 export may differ by at most this much from those of the run."""
LARGEST_LOSS = 0.005
"""Fraction of the images that a float16 or int8 export may classify worse: half a percentage point."""


class Written(Strict):
    """A file of the exported folder."""

    name: str
    size: int
    sha256: str


class Verification(Strict):
    """The written model beside the run it came from, on the same images."""

    images: int
    split: str
    """Which images: test, or validation or training where there are no test images."""
    largest_difference: float
    """Between the scores (logits) of the two, over all images and classes."""
    accuracy_before: float
    accuracy_after: float
    milliseconds_torch: float
    """Per image, median over batches."""
    milliseconds_exported: float
    batch: int
    threads: int


class Result(records.Result):
    """A folder that was written from a run, read back and run on the run's images."""

    model: str
    """The run that was exported."""
    format: str
    precision: str
    batch: int | None
    """Images that the model takes at once; None: any number."""
    out: str
    files: tuple[Written, ...]
    verification: Verification
    notes: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    """What the written model does worse than it may, in plain sentences."""

    @property
    def exit_code(self) -> int:
        """1 if the written model differs from the run by more than it may."""
        return int(bool(self.failures))

    def view(self) -> Iterable[Block]:
        found = self.verification
        rows = (
            ("largest difference of a score", f"{found.largest_difference:.2g}"),
            ("accuracy in torch", f"{found.accuracy_before:.2%}"),
            ("accuracy exported", f"{found.accuracy_after:.2%}"),
            ("milliseconds per image in torch", f"{found.milliseconds_torch:.3g}"),
            ("milliseconds per image exported", f"{found.milliseconds_exported:.3g}"),
        )
        images, threads = counted(found.images, f"{found.split} image"), counted(found.threads, "thread")
        note = f"{images}, {found.batch} at a time, {threads}"
        yield Table(title=f"{self.format}, {self.precision}", columns=("", ""), rows=rows, note=note)
        yield Table(columns=("file", "bytes"), rows=tuple((file.name, file.size) for file in self.files))
        for text in self.notes:
            yield Text(text=text, style="note")
        for text in self.failures:
            yield Text(text=text, style="error")
        yield Text(text=f"written: {self.out}", style="note")


def failures(precision: str, found: Verification) -> tuple[str, ...]:
    """Judge a verification: float32 by the scores, float16 and int8 by the accuracy.

    >>> same = Verification(images=10, split="test", largest_difference=2e-4, accuracy_before=0.9,
    ...     accuracy_after=0.9, milliseconds_torch=1, milliseconds_exported=1, batch=1, threads=1)
    >>> failures("float32", same), failures("int8", same)
    (('the scores differ by up to 0.0002, at most 0.0001 is accepted for float32',), ())
    """
    if precision == "float32":
        if found.largest_difference <= LARGEST_DIFFERENCE:
            return ()
        scores = f"the scores differ by up to {found.largest_difference:.2g}"
        return (f"{scores}, at most {LARGEST_DIFFERENCE:g} is accepted for float32",)
    loss = found.accuracy_before - found.accuracy_after
    if loss <= LARGEST_LOSS + 1e-12:
        return ()
    accuracy = f"the accuracy falls by {100 * loss:.2f} points to {found.accuracy_after:.2%}"
    return (f"{accuracy}, at most {100 * LARGEST_LOSS:g} points are accepted for {precision}",)
