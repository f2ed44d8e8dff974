"""What a verb yields: small typed records, the last of them its `Result`."""

import math
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Self

from vitruvius.core.blocks import Block, Text
from vitruvius.core.config import Strict


class Record(Strict):
    """One thing that happened. It knows how it looks (`view`), never where it is shown."""

    is_data: ClassVar[bool] = False
    """Data goes to stdout, everything else (progress, notes) to stderr."""
    is_kept: ClassVar[bool] = True
    """Kept records are appended to the run folder's `records.jsonl`."""

    def view(self) -> Iterable[Block]:
        """What a person is shown of this record."""
        return ()

    def line(self) -> dict[str, Any]:
        """The record as one JSON object: its kind and its fields."""
        return {"kind": type(self).__name__.lower(), **self.model_dump(mode="json")}


class Result(Record):
    """The last record of a verb: `result.json`, and what `--json` prints."""

    is_data: ClassVar[bool] = True
    html: ClassVar[Callable[[Iterable[Block]], str] | None] = None
    """Renders blocks as HTML; set by the Python API, since core does not import the renderer."""

    @property
    def exit_code(self) -> int:
        """The exit code of the command line: 0, or 1 where a subclass says that the work found faults."""
        return 0

    def _repr_html_(self) -> str | None:
        """Show the result in a notebook; without a renderer the notebook falls back to the text form."""
        return Result.html(self.view()) if Result.html else None


class Note(Record):
    """A sentence for the person who waits."""

    text: str
    warning: bool = False

    def view(self) -> Iterable[Block]:
        yield Text(text=self.text, style="warning" if self.warning else "note")


class Progress(Record):
    """How far the work is: a bar on a terminal, nothing elsewhere."""

    is_kept: ClassVar[bool] = False
    done: int
    total: int
    label: str


class Score(Strict):
    """A number, or the reason why there is none. JSON has no NaN, and a reason says more."""

    value: float | None = None
    failed: str | None = None

    @classmethod
    def of(cls, value: float) -> Self:
        """A finite value as it is, any other as a failure that names it.

        >>> Score.of(0.5).value, Score.of(float("nan")).failed
        (0.5, 'the score is nan')
        """
        return cls(value=value) if math.isfinite(value) else cls(failed=f"the score is {value}")
