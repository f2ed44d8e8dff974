"""The key of a set of exercise sheets: questions and right values of each variant, as in `key.json`."""

import json
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

from vitruvius import lessons
from vitruvius.core import files, plugins
from vitruvius.core.config import Strict
from vitruvius.core.errors import UserError
from vitruvius.teaching import exercises, solution
from vitruvius.teaching.check import agrees
from vitruvius.teaching.solution import Solution

FORMAT = 1
"""Changes when a key of an older version could be read wrongly."""


class Exercise(Strict):
    """One question of a sheet, and the right values of what it asks for."""

    question: dict[str, Any]
    drawn: tuple[str, ...]
    """The fields of the question that were drawn; the others have the lesson's own values."""
    values: dict[str, Any]


class Variant(Strict):
    """One sheet: an exercise for every lesson."""

    variant: int
    exercises: dict[str, Exercise]


class Key(Strict):
    """All sheets of one call."""

    format: int
    seed: int
    lessons: tuple[str, ...]
    variants: tuple[Variant, ...]


def make(names: tuple[str, ...], variants: int, seed: int) -> tuple[Key, list[dict[str, Solution]]]:
    """Draw and solve the exercises of all variants; the same seed gives the same sheets."""
    drawn: dict[str, list[dict[str, Any]]] = {}
    for name in names:
        dice, taken = Random(f"{seed} {name}"), set[str]()
        drawn[name] = [exercises.draw(name, dice, taken) for _ in range(variants)]
    solved = [{name: solution.solve(name, drawn[name][index]) for name in names} for index in range(variants)]
    sheets = tuple(
        Variant(
            variant=index,
            exercises={
                name: Exercise(
                    question=one.question.model_dump(mode="json"),
                    drawn=tuple(drawn[name][index - 1]),
                    values=lessons.plain({asked: one.values[asked] for asked in one.asked}),
                )
                for name, one in sheet.items()
            },
        )
        for index, sheet in enumerate(solved, 1)
    )
    return Key(format=FORMAT, seed=seed, lessons=names, variants=sheets), solved


def read(path: Path) -> Key:
    """Read a key; one of another version is refused."""
    fields = files.read_object(path, "a key with sheets")
    if fields.get("format") != FORMAT:
        made = "another version of Vitruvius" if isinstance(fields.get("format"), int) else "something else"
        raise UserError(
            f"{path}: made by {made}: it has the format {str(fields.get('format'))[:20]}, this version "
            f"reads {FORMAT}; make the sheets again"
        )
    return files.typed(path, _typed, fields)


def _typed(**fields: Any) -> Key:
    key = Key(**fields)
    for number, variant in enumerate(key.variants, 1):
        if variant.variant != number or set(variant.exercises) != set(key.lessons):
            raise UserError(f"variant {number} is damaged: it needs an exercise for each lesson")
    return key


@lru_cache(maxsize=1024)
def _solution(lesson: str, question: str, values: str) -> Solution:
    asked = lessons.question(lesson, json.loads(question))
    found = Solution(lesson, asked, {name: _exact(value) for name, value in json.loads(values).items()})
    lines = found.lines()
    if found.asked != list(found.values) or not all(
        agrees(lines[n].value, v) for n, v in found.values.items()
    ):
        raise UserError(f"the key was made by another version of the lesson {lesson}: make the sheets again")
    return found


def solution_of(exercise: Exercise, lesson: str) -> Solution:
    """The solution that a key holds, without solving the question again."""
    if lesson not in plugins.members("lessons"):
        raise UserError(f"the key has the lesson '{lesson[:40]}', which this version does not know")
    return _solution(lesson, json.dumps(exercise.question), json.dumps(exercise.values))


def _exact(value: Any) -> Any:
    """A value of a key with its fractions, which JSON holds as texts.

    >>> _exact({"a": ["8/9", 2, 0.5, "word"]})
    {'a': [Fraction(8, 9), 2, 0.5, 'word']}
    """
    if isinstance(value, Mapping):
        return {key: _exact(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_exact(item) for item in value]
    if isinstance(value, str) and value.lstrip("-").replace("/", "", 1).isdigit() and len(value) <= 200:
        try:
            return Fraction(value)
        except (ValueError, ZeroDivisionError):
            return value
    return value
