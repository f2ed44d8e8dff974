"""Lessons: computations worked as on a board and proved by a second method. A member is one module with

- `SUBJECT`: the heading it stands under, one of `SUBJECTS`;
- `Question`: a `lessons.Question`, whose defaults are the assignment's numbers (exact fields are `Exact`, and
  `Annotated[Matrix, "N D"]` gives a shape: equal letters mean equal sizes); `refuse` says what else must fit;
- `solve(question) -> Iterator[Step | Answer]`: the steps in order, written on a `Board`, the `Answer` last;
- `prove(question, answer) -> Iterator[Proof]`: independent computations that judge the answer;
- `TASK`: what a student is asked, `attempt(question, write)`: what is written down in order, with the usual
  mistakes (`Attempt`), and `draw(random)`: the fields of a question with other numbers. A lesson with
  nothing to compute has none of the three.

Laws, tested over the folder: a lesson runs on its defaults; everything is JSON-able; all proofs pass;
**changing any numeric entry of the answer by one part in a million makes a proof fail** (an entry estimated
by Monte Carlo: by five of its standard errors); what `attempt` writes down is what `solve` finds; every
mistake is recognised; drawn questions are answered and proved. Lessons are imported only to be worked: names
and summaries are read from the source."""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Annotated, Any, ClassVar, Protocol, Self, cast

from pydantic import BeforeValidator, ConfigDict, Field, PlainSerializer, model_validator

from vitruvius.core import plugins
from vitruvius.core.blocks import Block, Figure, Formula, Text
from vitruvius.core.config import Strict
from vitruvius.core.errors import UserError
from vitruvius.core.records import Record
from vitruvius.lessons import _board, _shapes
from vitruvius.lessons._attempt import Attempt as Attempt
from vitruvius.lessons._attempt import Line as Line
from vitruvius.lessons._board import latex as latex
from vitruvius.lessons._values import Value as Value
from vitruvius.lessons._values import leaves as leaves
from vitruvius.lessons._values import listed as listed
from vitruvius.lessons._values import plain as plain

SUBJECTS = (
    "attention",
    "vision transformers",
    "convolution",
    "autoencoders",
    "training",
    "recurrent nets and graphs",
    "zero-cost ranking",
    "optimal transport",
)

SMALLEST, LARGEST = Decimal("1e-12"), Decimal("1e12")
"""Sizes between which a number of a question lies, unless it is 0: beyond them floats no longer prove
anything.
"""


def exact(value: Any) -> Any:
    """A number as the fraction it is written as, tuples entry by entry: 0.6 is 3/5, "8/9" is 8/9.

    >>> exact(0.6), exact(("8/9", 2))
    (Fraction(3, 5), (Fraction(8, 9), Fraction(2, 1)))
    """
    if isinstance(value, tuple):
        return tuple(exact(item) for item in value)
    if isinstance(value, bool) or not isinstance(value, int | float | str | Fraction):
        return value
    text = str(value)
    try:
        # Decimal looks at the exponent only; a Fraction would write 1e999999999 out first.
        size = abs(Fraction(text)) if "/" in text else Decimal(text).copy_abs()
        if not size or SMALLEST <= size <= LARGEST:
            return Fraction(text if size else 0)
    except (ValueError, ArithmeticError):
        raise ValueError(f"'{text:.40}' is not a number") from None
    raise ValueError(f"'{text:.40}' must be 0 or between 1e-12 and 1e12 in size")


Exact = Annotated[Fraction, BeforeValidator(exact), PlainSerializer(plain)]
Vector = tuple[Exact, ...]
Matrix = tuple[Vector, ...]


class Question(Strict):
    """What a lesson is asked; the defaults are the assignment's own numbers.

    A text in the annotation of a field, as in `Annotated[Matrix, "N D"]`, is its shape.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)
    limits: ClassVar[dict[str, tuple[int, int]]] = {}
    """Smallest and largest size of a letter; 1 to 64 for the others."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        assert self.sizes is not None  # measuring refuses what does not fit
        self.refuse()
        return self

    def refuse(self) -> None:
        """Raise ValueError for numbers that do not go together; their shapes fit already."""

    @property
    def sizes(self) -> dict[str, int]:
        """The size of every letter in the shapes of the fields."""
        shapes = ((name, mark) for name, field in type(self).model_fields.items() for mark in field.metadata)
        fields = [(name, mark, getattr(self, name)) for name, mark in shapes if isinstance(mark, str)]
        return {letter: size for letter, (size, _) in _shapes.measure(fields, self.limits).items()}


class Step(Record):
    """One line on the board: what is done, its formula, what comes out, perhaps a figure."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    is_data: ClassVar[bool] = True
    says: str
    formula: str = ""
    """LaTeX, with the numbers filled in."""
    value: Annotated[Value, PlainSerializer(plain)] = None
    figure: Figure | None = None
    named: dict[str, Any] = Field(default={}, exclude=True, repr=False)
    """The value, or its parts, by their names on the board."""

    def view(self) -> Iterable[Block]:
        yield Text(text=self.says)
        if self.formula:
            yield Formula(latex=self.formula)
        if self.figure is not None:
            yield self.figure


class Board(dict[str, Any]):
    r"""Named values, and the steps that are written with them.

    `<name>` in a template is the value of that name: short in the sentence, exact LaTeX in the formula.

    >>> step = Board(n=4, others=3, edges=12).step("<n> words.", r"|E| = <n> \cdot <others> = <edges>")
    >>> step.formula, step.value
    ('|E| = 4 \\cdot 3 = 12', 12)
    """

    def step(
        self,
        says: str,
        formula: str = "",
        value: Value = ...,
        figure: Figure | None = None,
        shows: str = "",
    ) -> Step:
        """One step. Its value is what the formula ends with, or what `value` is.

        A text as `value` is a name, or several names for a dict. `shows` names what the formula works out
        beside, a value or the first part of one.
        """
        name = _board.last_name(formula)
        named = ({name: self[name]} if name else {}) | self.pick(shows)
        if value is ...:
            value = _board.last(formula, self)
        elif isinstance(value, str):
            named |= self.pick(value)
            value = self.pick(value) if " " in value else self[value]
        says, formula = _board.sentence(says, self), _board.formula(formula, self)
        return Step(says=says, formula=formula, value=value, figure=figure, named=named)

    def pick(self, names: str) -> dict[str, Any]:
        """The values of these names, separated by blanks."""
        return {name: self[name] for name in names.split()}


class Answer(Record):
    """What came out, by field name."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    is_data: ClassVar[bool] = True
    fields: Annotated[dict[str, Value], BeforeValidator(listed), PlainSerializer(plain)]
    standard_errors: dict[str, float] = {}
    """Of the fields (by path, 'outputs.0') that are Monte-Carlo estimates."""

    def __getitem__(self, field: str) -> Any:
        return self.fields[field]


class Proof(Record):
    """The verdict of a second computation."""

    is_data: ClassVar[bool] = True
    name: str
    method: str
    """How it was computed again: autograd, brute force, duality, ..."""
    passed: bool
    detail: str

    def view(self) -> Iterable[Block]:
        mark = "proved" if self.passed else "NOT PROVED"
        yield Text(
            text=f"{mark}: {self.name} ({self.method}): {self.detail}",
            style="good" if self.passed else "error",
        )


class Lesson(Protocol):
    """What a lesson's module offers."""

    SUBJECT: str
    Question: type[Question]

    def solve(self, question: Any) -> Iterator[Step | Answer]: ...

    def prove(self, question: Any, answer: Answer) -> Iterator[Proof]: ...


class Exercise(Lesson, Protocol):
    """What the module of a lesson that computes something offers beside."""

    TASK: str

    def attempt(self, question: Any, write: Attempt) -> None: ...

    def draw(self, random: Random) -> dict[str, Any]: ...


def get(name: str) -> Lesson:
    """The lesson of that name."""
    return cast(Lesson, plugins.module("lessons", name))


def question(name: str, fields: Mapping[str, Any]) -> Question:
    """The question of the lesson of that name with these fields; a fault is said with the lesson's name."""
    try:
        return get(name).Question(**fields)
    except UserError as error:
        raise UserError(f"{name}: {error}") from None


def exercise(name: str) -> Exercise | None:
    """The lesson of that name if students can be asked to compute it."""
    found = plugins.module("lessons", name)
    return cast(Exercise, found) if hasattr(found, "attempt") else None
