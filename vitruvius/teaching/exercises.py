"""Other numbers for a lesson: drawn by the lesson itself, and kept if the exercise is as hard as its own."""

import math
import random
from typing import Any

from vitruvius import lessons
from vitruvius.core import plugins
from vitruvius.core.errors import UserError
from vitruvius.teaching.solution import Solution

TRIES = 1000
"""Draws for one exercise until a good one is found."""
SATURATED = 0.98
"""A weight that leaves nothing to mix; the lesson's own numbers may have a larger one."""


def names() -> list[str]:
    """The lessons that can be asked as exercises, in order."""
    return [name for name in plugins.members("lessons") if lessons.exercise(name)]


def draw(lesson: str, dice: random.Random, taken: set[str]) -> dict[str, Any]:
    """The fields of a question with new numbers, different from those taken.

    Every mistake that shows in the lesson's own numbers shows in them, too, so no step is empty."""
    exercise = lessons.exercise(lesson)
    if exercise is None:
        raise UserError(f"{lesson} has nothing to compute: choose from {', '.join(names())}")
    least, own = _mistakes(lesson, {}), _largest_weights(lesson, {})
    limits = {name: max(SATURATED, largest) for name, largest in own.items()}
    for _ in range(TRIES):
        fields = exercise.draw(dice)
        if not _is_good(lesson, fields, least, limits):
            continue
        written = str(lessons.question(lesson, fields).model_dump(mode="json"))
        if written not in taken:
            taken.add(written)
            return fields
    raise UserError(f"{lesson}: no further exercise is found after {len(taken)}: ask for fewer variants")


def _is_good(lesson: str, fields: dict[str, Any], least: int, limits: dict[str, float]) -> bool:
    if any(map(_has_an_empty_row, fields.values())):
        return False
    try:
        if _mistakes(lesson, fields) < least:
            return False
        return all(most <= limits.get(name, 1.0) for name, most in _largest_weights(lesson, fields).items())
    except UserError:  # numbers that the lesson refuses, such as a matrix without an inverse
        return False


def _has_an_empty_row(value: Any) -> bool:
    """Whether a list of numbers, or a row of a matrix, is all zeros.

    >>> _has_an_empty_row([[1, 0], [0, 0]]), _has_an_empty_row([1, 0]), _has_an_empty_row(0)
    (True, False, False)
    """
    if not isinstance(value, list | tuple) or not value:
        return False
    if any(isinstance(item, list | tuple) for item in value):
        return any(map(_has_an_empty_row, value))
    return len(value) > 1 and not any(value)


def _mistakes(lesson: str, fields: dict[str, Any]) -> int:
    """How many mistakes show."""
    lines = _lines(lesson, fields)
    finite = all(math.isfinite(leaf) for line in lines.values() for leaf in _numbers(line.value))
    return len({key for line in lines.values() for key in line.mistakes}) if finite else -1


def _largest_weights(lesson: str, fields: dict[str, Any]) -> dict[str, float]:
    """The largest attention weight of each value that holds some."""
    found = {name: _numbers(line.value) for name, line in _lines(lesson, fields).items() if "weights" in name}
    return {name: max(weights) for name, weights in found.items() if weights and max(weights) <= 1}


def _lines(lesson: str, fields: dict[str, Any]) -> Any:
    return Solution(lesson, lessons.question(lesson, fields), {}).lines()


def _numbers(value: Any) -> list[float]:
    return [float(leaf) for leaf in lessons.leaves(value).values() if not isinstance(leaf, str | None)]
