"""The doctor's result: its JSON has what was asked for, its exit code says whether an error was found."""

from pathlib import Path

import pytest

from vitruvius.checks import Finding
from vitruvius.core.blocks import Text
from vitruvius.doctor.results import Result, Skipped

ERROR = Finding(bug="frozen", severity="error", where="a.py:3", evidence="e", why="w", fix="f")


def test_a_finding_keeps_what_only_the_doctor_needs_out_of_its_json() -> None:
    finding = ERROR.model_copy(update={"also": ("a.py:4",), "explains": ("vanishing",)})
    keys = ["bug", "severity", "confidence", "where", "module", "evidence", "why", "fix", "patch"]
    assert list(finding.model_dump(mode="json")) == keys
    assert Finding.model_validate(finding.model_dump(mode="json")) == ERROR


def test_tables_are_in_the_json_only_if_they_were_asked_for() -> None:
    assert "tables" not in Result().model_dump(mode="json")
    assert Result(tables=()).model_dump(mode="json")["tables"] == []


@pytest.mark.parametrize(("severity", "code"), [("error", 1), ("warning", 5), ("info", 5)])
def test_an_error_leaves_1_and_anything_else_the_exit_code_of_the_script(severity: str, code: int) -> None:
    finding = ERROR.model_copy(update={"severity": severity})
    assert Result(findings=(finding,), script_exit=5).exit_code == code


def test_a_warning_fails_where_that_is_wanted() -> None:
    warning = ERROR.model_copy(update={"severity": "warning"})
    result = Result(findings=(warning,), fail_on="warning")
    assert (result.exit_code, "fail_on" in result.model_dump(mode="json")) == (1, False)
    note = ERROR.model_copy(update={"severity": "info"})
    assert Result(findings=(note,), fail_on="warning").exit_code == 0


def test_the_guilty_line_is_shown_with_a_marker(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one = 1\ntwo = 2\nthree = 3\nfour = 4\n")
    finding = ERROR.model_copy(update={"where": f"{tmp_path / 'a.py'}:3"})
    assert finding.source().splitlines() == [
        "       2 | two = 2",
        "  >    3 | three = 3",
        "       4 | four = 4",
    ]
    assert ERROR.model_copy(update={"where": ""}).source() == ""
    assert ERROR.model_copy(update={"where": f"{tmp_path / 'a.py'}:99"}).source() == ""


def test_the_verdict_comes_first_and_a_crash_before_it() -> None:
    warning = ERROR.model_copy(update={"severity": "warning"})
    result = Result(
        findings=(ERROR, ERROR, warning), checked=("a", "b"), skipped=(Skipped(check="c", why="w"),)
    )
    assert result.verdict == "2 bugs, 1 suspicion; 2 of 3 checks could be made"
    first, *_ = result.view()
    assert isinstance(first, Text)
    assert first.text == result.verdict
    crash, second, *_ = result.model_copy(update={"script_exit": 3}).view()
    assert isinstance(crash, Text)
    assert (crash.text, second) == ("the script ended with exit code 3", first)


@pytest.mark.parametrize(
    ("watched", "said"), [(300, "300 steps watched"), (256, "300 steps, 256 of them watched")]
)
def test_how_many_of_the_steps_were_watched_is_told(watched: int, said: str) -> None:
    result = Result(checked=("zero_grad",), steps=300, watched=watched)
    assert said in [block.text for block in result.view() if isinstance(block, Text)]
