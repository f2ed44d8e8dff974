"""The doctor's result: its JSON has what was asked for, its exit code says whether an error was found."""

import pytest

from vitruvius.checks import Finding
from vitruvius.doctor.results import Result

ERROR = Finding(bug="frozen", severity="error", where="a.py:3", evidence="e", why="w", fix="f")


def test_a_finding_keeps_what_only_the_doctor_needs_out_of_its_json() -> None:
    finding = ERROR.model_copy(update={"also": ("a.py:4",), "explains": ("vanishing",)})
    keys = ["bug", "severity", "confidence", "where", "module", "evidence", "why", "fix"]
    assert list(finding.model_dump(mode="json")) == keys
    assert Finding.model_validate(finding.model_dump(mode="json")) == ERROR


def test_tables_are_in_the_json_only_if_they_were_asked_for() -> None:
    assert "tables" not in Result().model_dump(mode="json")
    assert Result(tables=()).model_dump(mode="json")["tables"] == []


@pytest.mark.parametrize(("severity", "code"), [("error", 1), ("warning", 5), ("info", 5)])
def test_an_error_leaves_1_and_anything_else_the_exit_code_of_the_script(severity: str, code: int) -> None:
    finding = ERROR.model_copy(update={"severity": severity})
    assert Result(findings=(finding,), script_exit=5).exit_code == code
