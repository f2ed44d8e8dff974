"""What teaching yields: the parts of a lesson while it is worked, and the worked lessons."""

from collections.abc import Iterable
from typing import Annotated, Any, ClassVar

from pydantic import Field, PlainSerializer

from vitruvius import lessons
from vitruvius.core import records
from vitruvius.core.blocks import Block
from vitruvius.core.config import Strict


class Part(records.Record):
    """What a person is shown: one step while a lesson is worked, or a whole document."""

    is_data: ClassVar[bool] = True
    blocks: tuple[Block, ...]

    def view(self) -> Iterable[Block]:
        return self.blocks


class Lessons(records.Result):
    """A result with its blocks: the command line has shown them as parts, a notebook shows them all."""

    blocks: tuple[Block, ...] = Field(default=(), exclude=True, repr=False)

    def _repr_html_(self) -> str | None:
        return records.Result.html(self.blocks) if records.Result.html else None


class Entry(Strict):
    """A lesson in the list of lessons."""

    name: str
    summary: str


class Listing(Lessons):
    """All lessons by subject."""

    subjects: dict[str, tuple[Entry, ...]]


class Worked(Lessons):
    """A question with its solution step by step, its answer and the proofs of the answer."""

    lesson: str
    question: dict[str, Any]
    steps: tuple[lessons.Step, ...]
    answer: Annotated[dict[str, Any], PlainSerializer(lessons.plain)]
    checks: tuple[lessons.Proof, ...]

    @property
    def exit_code(self) -> int:
        """1 if a proof failed."""
        return int(not all(proof.passed for proof in self.checks))


class Collection(Lessons):
    """Every lesson, worked on its default numbers."""

    lessons: tuple[Worked, ...]

    @property
    def exit_code(self) -> int:
        """1 if a proof of any lesson failed."""
        return max((worked.exit_code for worked in self.lessons), default=0)
