"""A check in words: the verdict, the table of values, and hints."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from vitruvius import lessons
from vitruvius.core.blocks import Block, Formula, Table, Text
from vitruvius.core.counted import counted
from vitruvius.teaching import check
from vitruvius.teaching.results import Checked, Hint, Judged
from vitruvius.teaching.solution import Solution

LEVELS = 3


def checked(solution: Solution, answers: Mapping[str, Any], hint: int = 0) -> Checked:
    """Check values and say what is wrong with them; `hint` from 1 to 3 also helps with the next one."""
    judged = tuple(check.judge(solution, answers))
    given = [one for one in judged if one.status not in ("missing", "unchecked")]
    first = next((one for one in given if one.status == "wrong"), None)
    hints = tuple(hints_for(solution, judged, hint))
    verdict = sentence(solution, judged)
    return Checked(
        blocks=tuple(_blocks(solution, judged, verdict, hints)),
        lesson=solution.lesson,
        question=solution.question.model_dump(mode="json"),
        verdict=verdict,
        first_wrong=first.name if first else None,
        points=sum(one.points for one in given),
        possible=len(given),
        values=judged,
        hints=hints,
    )


def sentence(solution: Solution, judged: Sequence[Judged]) -> str:
    """The verdict: the first wrong value, the mistake, and what follows from it."""
    given = [one for one in judged if one.status not in ("missing", "unchecked")]
    if not given:
        return "Nothing was given that can be checked."
    first = next((one for one in given if one.status == "wrong"), None)
    if first is None:
        return f"All right: {len(given)} of {counted(len(given), 'value')}."
    words = [f"The first wrong step is {_placed(solution, first.name)}{mistake(first)}."]
    follow = [one.name for one in given if one.status == "consistent"]
    if follow:
        words.append(f"What follows from it is worked out rightly and counts: {', '.join(follow)}.")
    if more := [one for one in given if one.status == "wrong" and one is not first]:
        words.append(f"Also wrong: {'; '.join(one.name + mistake(one) for one in more)}.")
    points = sum(one.points for one in given)
    return " ".join([*words, f"Points: {points} of {len(given)}."])


def mistake(judged: Judged) -> str:
    """What is known about the mistake behind a wrong value, as the end of a sentence."""
    if not judged.says:
        return ""
    return f": this is what comes out when {', or when '.join(judged.says)}" + (
        " (the value alone does not tell which)" if len(judged.says) > 1 else ""
    )


def hints_for(solution: Solution, judged: Sequence[Judged], level: int) -> Iterator[Hint]:
    """Hints up to a level for the first wrong value, or else for the first one that is missing."""
    order = [one.name for status in ("wrong", "missing") for one in judged if one.status == status]
    if not level or not order:
        return
    name = order[0]
    line = solution.lines().get(name)
    asked = line.ask if line else f"How does {name} follow from the values before it?"
    yield Hint(name=name, level=1, text=asked)
    if level >= 2:
        formula = line.formula if line else ""
        text = f"The formula of {name}:" if formula else f"No general formula is written down for {name}."
        yield Hint(name=name, level=2, text=text, formula=formula)
    if level >= LEVELS:
        value = rf"\mathrm{{{name.replace('_', chr(92) + '_')}}} = {latex(solution.values[name])}"
        number = solution.shown.get(name)
        if number is None:
            yield Hint(name=name, level=3, text=f"The value of {name}:", formula=value)
            return
        step = solution.steps[number - 1]
        formula = rf"{step.formula}, \quad {value}" if step.formula else value
        yield Hint(name=name, level=3, text=f"Step {number}: {step.says}", formula=formula)


def latex(value: Any) -> str:
    r"""A value of any depth in LaTeX.

    >>> latex({"a": 1, "b": [1, 2]})
    'a : 1, \\quad b : \\begin{bmatrix} 1 & 2 \\end{bmatrix}'
    """
    if isinstance(value, Mapping):
        return r", \quad ".join(f"{_word(key)} : {latex(item)}" for key, item in value.items())
    if isinstance(value, bool | str) or value is None:
        return _word(value)
    if isinstance(value, list | tuple):
        rows = [item for item in value if isinstance(item, list | tuple)]
        if rows and len(rows) < len(value):  # a point and its mass
            return rf"\left( {', '.join(map(latex, value))} \right)"
        if any(isinstance(x, list | tuple | Mapping) for row in rows for x in row) or any(
            isinstance(item, Mapping | bool | None) for item in value
        ):
            return r", \quad ".join(map(latex, value))
    return lessons.latex(value)


def _word(value: Any) -> str:
    text = str(value).replace("_", " ")
    return text if len(text) == 1 else rf"\text{{{text}}}"


def _placed(solution: Solution, name: str) -> str:
    number = solution.shown.get(name)
    return f"{name} (step {number} of the solution)" if number else name


def _blocks(
    solution: Solution, judged: Sequence[Judged], verdict: str, hints: Sequence[Hint]
) -> Iterator[Block]:
    wrong = any(one.status == "wrong" for one in judged)
    yield Text(text=verdict, style="error" if wrong else "good")
    given = [one for one in judged if one.status not in ("missing", "unchecked")]
    if given:
        rows = tuple((one.name, one.status, _note(one)) for one in given)
        yield Table(title="Checked", columns=("value", "verdict", "why"), rows=rows)
    for status, words in (
        ("missing", "Not given"),
        ("unchecked", "Given, but a text, or others may be right, too"),
    ):
        if names := [one.name for one in judged if one.status == status]:
            yield Text(text=f"{words}, so not checked: {', '.join(names)}.", style="note")
    for level, group in groupby(hints, key=lambda hint: hint.level):
        for hint in group:
            yield Text(text=f"Hint {level} ({hint.name}): {hint.text}")
            if hint.formula:
                yield Formula(latex=hint.formula)


def _note(one: Judged) -> str:
    if one.status == "consistent":
        return f"follows from your {one.because}"
    if one.because == "rounding":
        return "follows from your rounded values"
    return mistake(one).removeprefix(": ")
