"""Every lesson in the table of docs/coursework.md runs, proves its answer and has the fields named there."""

import json
import re
import shlex
from pathlib import Path

import pytest

from vitruvius.cli import main
from vitruvius.core import plugins

TABLE = (Path(__file__).parent.parent / "docs" / "coursework.md").read_text()
ROWS = [
    (command, re.findall(r"`([a-z_][\w.]*)`", cells[3]))
    for line in TABLE.splitlines()
    if line.startswith("| ") and len(cells := line.split("|")) >= 6
    for command in re.findall(r"`(vitruvius explain [^`]*)`", cells[2])
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder: some commands of the table write files."""
    monkeypatch.chdir(tmp_path)


def asked(command: str, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    """The JSON document of a command, after checking that every proof passed."""
    assert main([*shlex.split(command)[1:], "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert all(check["passed"] for check in found["checks"])
    return found["answer"]


@pytest.mark.parametrize("command", sorted({command for command, _ in ROWS}))
def test_a_command_of_the_table_answers_with_the_fields_it_names(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = asked(command, capsys)
    named = {
        field.split(".")[0]
        for row, fields in ROWS
        if row == command
        for field in fields
        if "vitruvius" not in field
    }
    lessons = [row for row, fields in ROWS if fields and row == command]
    assert not lessons or named & answer.keys(), f"{command}: none of {named} in {list(answer)}"


def test_every_lesson_stands_in_the_table() -> None:
    named = {shlex.split(command)[2] for command, _ in ROWS}
    assert set(plugins.members("lessons")) <= named
