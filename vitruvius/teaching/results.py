"""What teaching yields: the parts of a lesson while it is worked, and the worked lessons."""

from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, Literal

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


class Answered(Strict):
    """A question of a document with its answer."""

    question: str
    commands: tuple[str, ...]
    answer: Annotated[dict[str, Any], PlainSerializer(lessons.plain)]
    proved: bool


class Document(Lessons):
    """A document whose questions are all answered."""

    document: str
    questions: tuple[Answered, ...]
    chapters: dict[str, tuple[Block, ...]] = Field(default={}, exclude=True, repr=False)
    """What is shown for each question."""

    @property
    def exit_code(self) -> int:
        """1 if a proof failed."""
        return int(not all(one.proved for one in self.questions))


class Collection(Lessons):
    """Every lesson, worked on its default numbers."""

    lessons: tuple[Worked, ...]

    @property
    def exit_code(self) -> int:
        """1 if a proof of any lesson failed."""
        return max((worked.exit_code for worked in self.lessons), default=0)


class Judged(Strict):
    """The verdict on one value of a student."""

    name: str
    status: Literal["right", "consistent", "wrong", "missing", "unchecked"]
    """`consistent`: it follows rightly from an earlier wrong value; `unchecked`: a text, or not unique."""
    because: str = ""
    """The wrong value that it follows from, or 'rounding' if it follows from rounded values."""
    mistakes: tuple[str, ...] = ()
    """The mistakes that give this value; of several, the value alone does not tell which."""
    says: tuple[str, ...] = ()
    """Each mistake in words."""

    @property
    def points(self) -> int:
        """1 for what is right, also if it follows from a wrong value."""
        return int(self.status in ("right", "consistent"))


class Hint(Strict):
    """Help with one value: a question, the formula, or the step with its numbers."""

    name: str
    level: int
    text: str
    formula: str = ""


class Checked(Lessons):
    """A student's values, checked one after the other."""

    lesson: str
    question: dict[str, Any]
    verdict: str
    first_wrong: str | None
    points: int
    possible: int
    """One point for every value that was given."""
    values: tuple[Judged, ...]
    hints: tuple[Hint, ...] = ()

    @property
    def exit_code(self) -> int:
        """1 if a value is wrong."""
        return int(self.first_wrong is not None)


class LessonGrade(Strict):
    """One exercise of one student."""

    lesson: str
    points: int
    possible: int
    carried: int
    """Points for values that follow from an earlier wrong one."""
    first_wrong: str | None
    mistake: str
    """The mistake behind the first wrong value in words, if it is a common one."""
    values: tuple[Judged, ...]


class StudentGrade(Strict):
    """All exercises of one student."""

    student: str
    file: str
    variant: int
    points: int
    possible: int
    lessons: tuple[LessonGrade, ...]


class Broken(Strict):
    """A file that could not be graded."""

    file: str
    reason: str


class Tally(Strict):
    """What a class did with one value."""

    lesson: str
    value: str
    right: int
    consistent: int
    wrong: int
    missing: int
    mistakes: dict[str, int]
    """How often each common mistake was made, the most frequent first."""


class Grades(Lessons):
    """The grades of a class."""

    students: tuple[StudentGrade, ...]
    broken: tuple[Broken, ...]
    overview: tuple[Tally, ...]

    @property
    def exit_code(self) -> int:
        """2 if a file could not be graded."""
        return 2 if self.broken else 0
