"""Worked lessons as results: exit codes, JSON, notebooks."""

import pytest

from vitruvius.core.blocks import Text
from vitruvius.core.records import Result
from vitruvius.lessons import Proof, Step
from vitruvius.render import page
from vitruvius.teaching.results import Collection, Worked


def worked(*passed: bool) -> Worked:
    checks = tuple(Proof(name="sum", method="by hand", passed=one, detail="") for one in passed)
    shown = (Text(text="Add."),)
    return Worked(
        blocks=shown, lesson="adding", question={}, steps=(Step(says="Add."),), answer={"x": 2}, checks=checks
    )


@pytest.mark.parametrize(("passed", "code"), [((), 0), ((True, True), 0), ((True, False), 1)])
def test_a_proof_that_failed_is_the_exit_code(passed: tuple[bool, ...], code: int) -> None:
    assert worked(*passed).exit_code == code
    assert Collection(lessons=(worked(True), worked(*passed))).exit_code == code


def test_blocks_are_shown_and_never_stored() -> None:
    assert list(worked(True).model_dump(mode="json")) == ["lesson", "question", "steps", "answer", "checks"]
    assert "Add." not in repr(Collection(lessons=()))


def test_a_notebook_shows_the_whole_lesson(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Result, "html", None)
    assert worked(True)._repr_html_() is None
    monkeypatch.setattr(Result, "html", page.fragment)
    assert "<p>Add.</p>" in (worked(True)._repr_html_() or "")
