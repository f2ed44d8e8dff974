"""The right values of a question by name, and what follows from other ones."""

from collections.abc import Collection, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from vitruvius import lessons
from vitruvius.lessons import Answer, Attempt, Line, Question, Step

SHORT_WORD = 40
"""Characters up to which a word of an answer is compared."""


class Solution(NamedTuple):
    """A question and everything in it that can be checked."""

    lesson: str
    question: Question
    values: dict[str, Any]
    """In the order in which they are written down; exact ones are fractions."""
    steps: tuple[Step, ...] = ()
    shown: Mapping[str, int] = {}
    """Number of the step that shows a value."""
    answer: Answer | None = None
    not_judged: frozenset[str] = frozenset()
    """Parts of the answer that are not compared: long texts, and values that are not the only right ones."""

    @property
    def asked(self) -> list[str]:
        """What a sheet asks for: the values of the lesson's attempt."""
        return [name for name, line in self.lines().items() if line.asked]

    def lines(self, given: Mapping[str, Any] | None = None, made: Collection[str] = ()) -> dict[str, Line]:
        """What is written down if these values are given and these mistakes are made.

        It ends early where nothing follows from the given values, such as a division by 0."""
        exercise, write = lessons.exercise(self.lesson), Attempt(given, made)
        if exercise:
            try:
                with np.errstate(all="ignore"):
                    exercise.attempt(self.question, write)
            except (ArithmeticError, ValueError, LookupError):
                if not given:
                    raise
        return write.lines


def solve(lesson: str, fields: Mapping[str, Any]) -> Solution:
    """Solve a question and name its values: those of the attempt first, then the rest of the answer."""
    asked = lessons.question(lesson, fields)
    steps: list[Step] = []
    for found in lessons.get(lesson).solve(asked):
        if isinstance(found, Answer):
            whole, answer = found, found.fields
            break
        steps.append(found)
    # 'w' is the given matrix, not its gradient; and what the answer holds is not asked for twice
    named, written = _named(steps), Solution(lesson, asked, {}).lines()
    taken = {*type(asked).model_fields, *(_text(v) for v in answer.values() if isinstance(v, list | dict))}
    others = {n: v for n, (v, _) in named.items() if n in written or not {n, _text(v)} & taken}
    known, free = others | answer, getattr(lessons.get(lesson), "NOT_UNIQUE", ())
    values = {name: value for name, value in known.items() if name not in free and _is_judged(value)}
    first = [name for name in written if name in values]
    rest = [name for name in (*answer, *values) if name in values]
    shown = {name: number for name, (_, number) in named.items() if name in values}
    for name in (name for name in first if name not in shown):
        if number := _step_with(steps, values[name]) or _first_part(steps, name):
            shown[name] = number
    ordered = {name: values[name] for name in dict.fromkeys([*first, *rest])}
    return Solution(lesson, asked, ordered, tuple(steps), shown, whole, frozenset(known) - frozenset(values))


def _named(steps: list[Step]) -> dict[str, tuple[Any, int]]:
    """The values that steps show by name, with the number of the step; not those that several differ in."""
    found: dict[str, tuple[Any, int]] = {}
    for number, step in enumerate(steps, 1):
        for name, value in step.named.items():
            value = lessons.listed(value)
            if name in found and _text(found[name][0]) != _text(value):
                found[name] = (None, number)
            else:
                found.setdefault(name, (value, number))
    return {name: pair for name, pair in found.items() if pair[0] is not None}


def _step_with(steps: list[Step], value: Any) -> int:
    """The first step that shows a value under another name; 0 if none does, or a count might be another."""
    if isinstance(value, bool | int | str):
        return 0
    for number, step in enumerate(steps, 1):
        parts = list(step.value.values()) if isinstance(step.value, Mapping) else []
        if any(_text(part) == _text(value) for part in (step.value, *parts, *step.named.values())):
            return number
    return 0


def _first_part(steps: list[Step], name: str) -> int:
    """The first of several steps that show a part of a value each, such as one head; 0 if none does."""
    return next((number for number, step in enumerate(steps, 1) if name in step.named), 0)


def _text(value: Any) -> str:
    return str(lessons.plain(value))


def _is_judged(value: Any) -> bool:
    """Whether a value has an entry that can be compared."""
    return any(map(comparable, lessons.leaves(value).values()))


def comparable(value: Any) -> bool:
    """Whether an entry is a number, a truth value or a short word."""
    if isinstance(value, str):
        return len(value) <= SHORT_WORD and "\n" not in value
    return isinstance(value, bool | int | float | Fraction)
