"""Every lesson in the table of docs/coursework.md runs, proves its answer and has every field named there."""

import io
import json
import re
import shlex
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from vitruvius.cli import main
from vitruvius.core import plugins

TABLE = (Path(__file__).parent.parent / "docs" / "coursework.md").read_text()
NAME = re.compile(r"`([a-z_][\w.]*)`")


class Row(NamedTuple):
    """A line of the table."""

    question: str
    commands: list[str]
    fields: list[str]
    """Names in the answer of one of the commands, or in the value of one of the steps."""
    steps: list[int]


def rows(table: str) -> list[Row]:
    """The lines that are answered by lessons."""
    lines = [line.split("|") for line in table.splitlines() if line.startswith("| ")]
    return [
        Row(
            cells[1].strip(),
            commands,
            _named(cells[3]),
            [int(n) for n in re.findall(r"step (\d+)", cells[3])],
        )
        for cells in lines
        if len(cells) >= 6 and (commands := re.findall(r"`(vitruvius explain [^`]*)`", cells[2]))
    ]


def _named(cell: str) -> list[str]:
    return [name for name in NAME.findall(cell) if not name.startswith("vitruvius")]


def holds(value: object, path: str) -> bool:
    """Whether a nested value has an entry at this path, such as `states.0`."""
    for key in path.split("."):
        if isinstance(value, list) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        elif isinstance(value, dict) and key in value:
            value = value[key]
        else:
            return False
    return True


def missing(row: Row, documents: list[dict[str, Any]]) -> list[str]:
    """What the row names and none of its commands' documents has."""
    places = [found["answer"] for found in documents]
    shown = [[step["value"] for step in found["steps"]] for found in documents]
    places += [values[number - 1] for values in shown for number in row.steps if number <= len(values)]
    steps = [f"step {number}" for number in row.steps if all(number > len(values) for values in shown)]
    return [*steps, *(field for field in row.fields if not any(holds(place, field) for place in places))]


ROWS = rows(TABLE)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder: some commands of the table write files."""
    monkeypatch.chdir(tmp_path)


@cache
def asked(command: str) -> dict[str, Any]:
    """The JSON document of a command, after checking that every proof passed."""
    with redirect_stdout(io.StringIO()) as said:
        assert main([*shlex.split(command)[1:], "--json"]) == 0
    found: dict[str, Any] = json.loads(said.getvalue())
    assert all(check["passed"] for check in found["checks"])
    return found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.question[:30])
def test_the_commands_of_a_row_answer_with_every_field_it_names(row: Row) -> None:
    assert missing(row, [asked(command) for command in row.commands]) == []


def test_a_field_or_step_that_does_not_exist_is_noticed() -> None:
    documents = [{"answer": {"states": [[0, 1]]}, "steps": [{"value": {"layers": 2}}]}]
    row = Row("q", ["c"], ["states.0", "layers", "states.1", "output"], [1, 2])
    assert missing(row, documents) == ["step 2", "states.1", "output"]


def test_every_lesson_stands_in_the_table() -> None:
    named = {shlex.split(command)[2] for row in ROWS for command in row.commands}
    assert set(plugins.members("lessons")) <= named
