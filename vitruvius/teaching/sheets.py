"""Exercise sheets: a question in words, what is given, tables to fill; and the key with every step."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from vitruvius import lessons
from vitruvius.core.blocks import Block, Formula, Table, Text
from vitruvius.core.files import csv_text
from vitruvius.render.latex import escape
from vitruvius.teaching import report, verdict
from vitruvius.teaching.solution import Solution

BLANK = "." * 12
"""What a cell to fill holds."""
WIDEST = 12
"""Columns of a table to fill."""
FILL_IN = "# Fill in: None stands for a number, or for a text such as 'sqrt(3)/2'."
HAND_IN = 'with open("answers.json", "w") as file:\n    json.dump(handed_in, file, default=str, indent=2)'


def sheet(number: int, solutions: Mapping[str, Solution], drawn: Mapping[str, Any]) -> Iterator[Block]:
    """What a student gets: every exercise of one variant."""
    yield Text(text="Name:  ....................................................")
    yield Text(
        text=f"Variant {number}. Write numbers, fractions or expressions such as e^2/(1+e^2) or sqrt(3)/2; "
        "decimals are judged to the digits that you write."
    )
    for count, (name, solution) in enumerate(solutions.items(), 1):
        yield Text(text=f"Exercise {count}: {name.replace('_', ' ')}", style="title")
        yield from exercise(solution, drawn[name])


def exercise(solution: Solution, drawn: Any) -> Iterator[Block]:
    """The question in words, what is given, and tables to fill."""
    yield Text(text=task(solution))
    yield from given(solution, drawn)
    figure = getattr(lessons.get(solution.lesson), "SHEET_FIGURE", 0)
    if figure and solution.steps:
        shown = solution.steps[figure - 1].figure
        if shown is not None:
            yield shown
    lines = solution.lines()
    for name in solution.asked:
        yield Text(text=f"{name}: {lines[name].what}.")
        yield from _tables(name, solution.values[name])


def task(solution: Solution) -> str:
    """The question in words, with its numbers."""
    found = lessons.exercise(solution.lesson)
    assert found is not None
    said = {True: "yes", False: "no"}
    known = {name: said[v] if isinstance(v, bool) else v for name, v in vars(solution.question).items()}
    return lessons.Board(known).step(found.TASK).says


def given(solution: Solution, drawn: Any) -> Iterator[Block]:
    """The numbers of the question that were drawn: matrices as formulas, words as text."""
    written, formulas = solution.question.model_dump(mode="json"), list[str]()
    for name in drawn:
        value = getattr(solution.question, name)
        if isinstance(value, str) or (
            isinstance(value, tuple) and any(isinstance(item, str) for item in value)
        ):
            yield Text(text=f"{name}: {value if isinstance(value, str) else ' '.join(value)}")
        elif isinstance(written[name], Mapping):
            rows = tuple((key, str(item)) for key, item in written[name].items())
            yield Table(title=name, columns=("field", "value"), rows=rows)
        else:
            formulas.append(rf"\mathrm{{{escape(name)}}} = {verdict.latex(value)}")
    if formulas:
        yield Formula(latex=r", \quad ".join(formulas))


def solved(solutions: Mapping[str, Solution], drawn: Mapping[str, Any]) -> Iterator[Block]:
    """What the teacher gets: every step, every value, and what the common mistakes give."""
    for count, (name, solution) in enumerate(solutions.items(), 1):
        yield Text(text=f"Exercise {count}: {name.replace('_', ' ')}", style="title")
        yield Text(text=task(solution))
        yield from given(solution, drawn[name])
        for index, step in enumerate(solution.steps, 1):
            yield from report.step_blocks(index, step)
        yield Text(text="Values that are asked for", style="title")
        for asked in solution.asked:
            yield Formula(latex=rf"\mathrm{{{escape(asked)}}} = {verdict.latex(solution.values[asked])}")
        rows = [
            (asked, f"{says}", _short(wrong))
            for asked, line in solution.lines().items()
            if line.asked
            for says, wrong in line.mistakes.values()
        ]
        columns = ("value", "mistake: what comes out when ...", "is")
        yield Table(title="Common mistakes", columns=columns, rows=tuple(rows))


def blank(number: int, solutions: Mapping[str, Solution]) -> dict[str, Any]:
    """The file that a student fills and hands in."""
    answers = {
        name: {asked: empty(one.values[asked]) for asked in one.asked} for name, one in solutions.items()
    }
    return {"student": "", "variant": number, "answers": answers}


def blank_csv(number: int, solutions: Mapping[str, Solution]) -> str:
    """The same as a table: one row per number."""
    rows: list[dict[str, Any]] = [
        {"lesson": "", "value": "student", "answer": ""},
        {"lesson": "", "value": "variant", "answer": number},
    ]
    for name, one in solutions.items():
        for asked in one.asked:
            rows += [
                {"lesson": name, "value": path, "answer": ""} for path in paths(asked, one.values[asked])
            ]
    return csv_text(rows)


def empty(value: Any) -> Any:
    """The structure of a value, with None in the place of every entry."""
    if isinstance(value, Mapping):
        return {key: empty(item) for key, item in value.items()}
    return [empty(item) for item in value] if isinstance(value, list | tuple) else None


def paths(name: str, value: Any) -> Iterator[str]:
    """The names of the entries of a value, counted from 1.

    >>> list(paths("w", [[1, 2], [3, 4]]))
    ['w[1,1]', 'w[1,2]', 'w[2,1]', 'w[2,2]']
    """
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from paths(f"{name}.{key}", item)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value, 1):
            inner = f"{name[:-1]},{number}]" if name.endswith("]") else f"{name}[{number}]"
            yield from paths(inner, item)
    else:
        yield name


def notebook(number: int, solutions: Mapping[str, Solution], drawn: Mapping[str, Any], text: Any) -> str:
    """A Jupyter notebook: the exercises, cells to fill, and cells that check what was filled in."""
    cells = [cell("markdown", f"# Exercises, variant {number}")]
    for name, one in solutions.items():
        cells.append(cell("markdown", text([Text(text=name, style="title"), *exercise(one, drawn[name])])))
        blanks = {asked: empty(one.values[asked]) for asked in one.asked}
        rows = "".join(f"    {key!r}: {value!r},\n" for key, value in blanks.items())
        cells.append(cell("code", f"{FILL_IN}\n{name} = {{\n{rows}}}"))
        fields = one.question.model_dump(mode="json")
        chosen = {key: fields[key] for key in drawn[name]}
        cells.append(cell("code", f"import vitruvius\n\nvitruvius.check({name!r}, {name}, **{chosen!r})"))
    answers = ", ".join(f"{name!r}: {name}" for name in solutions)
    hand_in = f'handed_in = {{"student": "", "variant": {number}, "answers": {{{answers}}}}}'
    cells.append(cell("markdown", "Write your name, run this cell, and hand in the file."))
    cells.append(cell("code", f"import json\n\n{hand_in}\n{HAND_IN}"))
    return as_notebook(cells)


def as_notebook(cells: list[dict[str, Any]]) -> str:
    """Cells as a Jupyter notebook."""
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    numbered = [one | {"id": f"cell-{index}"} for index, one in enumerate(cells)]
    made = {"cells": numbered, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def cell(kind: str, source: str) -> dict[str, Any]:
    """A cell of a notebook, not run yet."""
    made: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": source}
    return made | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def _tables(name: str, value: Any) -> Iterator[Table]:
    """Tables with a cell for every entry; what has more than two dimensions is taken apart."""
    if isinstance(value, Mapping):
        if not any(isinstance(item, Mapping | list | tuple) for item in value.values()):
            yield Table(columns=tuple(map(str, value)), rows=((BLANK,) * len(value),))
            return
        for key, item in value.items():
            yield from _tables(f"{name}.{key}", item)
    elif not isinstance(value, list | tuple):
        yield Table(columns=(name,), rows=((BLANK,),))
    elif not any(isinstance(item, list | tuple | Mapping) for item in value):
        for start in range(0, len(value), WIDEST):
            numbers = range(start + 1, min(start + WIDEST, len(value)) + 1)
            columns = tuple(f"{name}[{number}]" for number in numbers)
            yield Table(columns=columns, rows=((BLANK,) * len(columns),))
    elif all(
        isinstance(row, list | tuple) and not any(isinstance(x, list | tuple) for x in row) for row in value
    ):
        columns = (name, *map(str, range(1, len(value[0]) + 1)))
        rows = tuple((f"row {i}", *(BLANK,) * len(value[0])) for i in range(1, len(value) + 1))
        yield Table(columns=columns, rows=rows)
    else:
        for number, item in enumerate(value, 1):
            yield from _tables(f"{name}[{number}]", item)


def _short(value: Any) -> str:
    """A value in a cell of the key."""
    text = json.dumps(lessons.plain(value, 4))
    return text if len(text) <= 90 else f"{text[:87]}..."
