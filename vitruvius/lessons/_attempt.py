"""What is written down while a lesson is worked: named values in order, and what the usual mistakes give."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from vitruvius.lessons._values import leaves

Mistakes = Mapping[str, tuple[str, Any]]
"""By name: the sentence that ends "this is what comes out when ...", and the value that comes out."""

VISIBLE = 1e-4
"""The difference, as part of the largest entry, from which on a mistake shows; a count must be exact."""


class Line(NamedTuple):
    """One value of an attempt."""

    value: Any
    what: str
    """What it is, in a few words: a row of the sheet."""
    ask: str
    """A question that leads to it: the first hint."""
    formula: str
    """LaTeX without numbers: the second hint."""
    right: Any
    """The value that follows from the ones before, without a mistake."""
    possible: Mistakes
    asked: bool = True
    """Whether a sheet asks for it; others, made of values that are, may be handed in as well."""

    @property
    def mistakes(self) -> Mistakes:
        """The mistakes that show here: not those with the same value, or with one of another shape."""
        return {key: made for key, made in self.possible.items() if _shows(made[1], self.right)}


class Attempt:
    """Values written down one after the other; each may be replaced, and mistakes may be made on the way.

    A lesson calls it for every value, with the right one and those of the usual mistakes, and goes on with
    what it returns. So one function says what is right, what a mistake gives, and what follows from a wrong
    value.

    >>> def attempt(write):
    ...     side = write("side", 3, "the side", "How long?", "a", doubled=("the side is doubled", 6))
    ...     write("area", side * side, "the area", "How large?", "a^2")
    >>> def area(**options):
    ...     write = Attempt(**options)
    ...     attempt(write)
    ...     return write.lines["area"].value
    >>> area(), area(made=["doubled"]), area(given={"side": 5})
    (9, 36, 25)
    """

    def __init__(self, given: Mapping[str, Any] | None = None, made: Collection[str] = ()) -> None:
        self.given, self.made = given or {}, made
        self.lines: dict[str, Line] = {}

    def __call__(
        self,
        name: str,
        right: Any,
        what: str,
        ask: str,
        formula: str,
        *,
        asked: bool = True,
        **mistakes: tuple[str, Any],
    ) -> Any:
        """Write down a value; returns what the attempt goes on with."""
        made = (wrong for key, (_, wrong) in mistakes.items() if key in self.made and _shows(wrong, right))
        value = next(made, right)
        self.lines[name] = Line(value, what, ask, formula, right, mistakes, asked)
        return filled(value, self.given[name]) if name in self.given else value


def write_second_moment(write: Attempt, data: Any) -> Any:
    """Write down the second moment of data whose columns are samples, as a first step of several lessons."""
    n = data.shape[1]
    return write(
        "moment",
        data @ data.T / n,
        "second moment of the data",
        "What is divided by: the samples, or one less?",
        r"S = \frac1n X X^T",
        sample=("n - 1 is divided by", data @ data.T / (n - 1) if n > 1 else None),
        total=("nothing is divided by", data @ data.T),
    )


def _shows(wrong: Any, right: Any) -> bool:
    """Whether a value has the shape of another one and differs from it by more than roundings may."""
    found, wanted = (
        {path: leaf for path, leaf in leaves(value).items() if leaf is not None} for value in (wrong, right)
    )
    if found.keys() != wanted.keys():
        return False
    numbers = [abs(value) for value in wanted.values() if not isinstance(value, str)]
    counts = all(isinstance(number, int) for number in numbers)
    close = 0.0 if counts else VISIBLE * float(max(numbers, default=0))
    return any(
        found[path] != value if isinstance(value, str) else not abs(found[path] - value) <= close
        for path, value in wanted.items()
    )


def filled(value: Any, given: Any) -> Any:
    """A value whose entries are replaced by those given; None leaves an entry as it is.

    >>> filled([1, [2, 3]], [None, [5, None]])
    [1, [5, 3]]
    """
    if given is None:
        return value
    if hasattr(value, "dtype") and value.shape:  # an array; its type is that of the lesson's arithmetic
        other = value.copy()
        other[...] = filled(value.tolist(), given)
        return other
    if isinstance(value, Mapping):
        return {key: filled(item, given.get(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [filled(item, new) for item, new in zip(value, given, strict=True)]
    return float(given) if isinstance(value, float) else given
