"""A damaged study of a run folder is noticed and made anew; nothing outside is touched."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from vitruvius.core import files
from vitruvius.core.errors import UserError
from vitruvius.core.runs import RunFolder
from vitruvius.searching import own_study
from vitruvius.searching.settings import Config
from vitruvius.searching.study import Request, Study
from vitruvius.searching.trials import Outcome

PREPARED: Any = SimpleNamespace(
    config=Config(), name=lambda number: f"n{number}", networks=(1, 2, 3), plan=SimpleNamespace(steps=20)
)


def trained(number: int, steps: int, accuracy: float | None) -> dict[str, Any]:
    about = {"network": f"n{number}", "steps": steps, "replicate": 0, "accuracy": accuracy}
    return {"kind": "trained", **about, "timing": {"seconds": 2.0}}


LINES = [{"kind": "plan"}, trained(1, 10, 0.5), trained(2, 10, None), trained(1, 20, 0.75)]


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A search with the outcomes of three trainings, at a rung, failed and ended; a fourth is not told."""
    folder = RunFolder(tmp_path / "toy", is_new=False)
    folder.folder.mkdir()
    study, fault = own_study.opened(folder, PREPARED, [])
    assert not fault
    wanted = [Request(1, 10), Request(2, 10), Request(1, 20), Request(3, 10)]
    study.queue(wanted)
    claimed = study.claim(wanted, 4)
    study.tell(claimed[0][0], Outcome(accuracy=0.5, loss=0.25, correct="f0"), rung=10)
    study.tell(claimed[1][0], Outcome(failed="no memory"))
    study.tell(claimed[2][0], Outcome(accuracy=0.75, correct="fc"))
    study.close()
    for line in LINES:
        files.append_line(folder.path("records.jsonl"), line)
    return folder


def opened(folder: RunFolder) -> tuple[Study, str, list[dict[str, Any]]]:
    lines = [dict(line) for line in LINES]
    study, fault = own_study.opened(folder, PREPARED, lines)
    return study, fault, lines


def change(sql: str) -> Callable[[Path], None]:
    def changed(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection, connection:
            assert connection.execute(sql).rowcount > 0

    return changed


def test_an_intact_study_is_used_as_it_is(folder: RunFolder) -> None:
    study, fault, lines = opened(folder)
    assert (fault, lines) == ("", LINES)
    assert study.finished()[Request(1, 10)] == Outcome(accuracy=0.5, loss=0.25, correct="f0")
    study.close()


def test_a_study_that_was_killed_while_it_was_told_is_intact(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, _, _ = opened(folder)
    study.requeue_own()
    study.queue([Request(3, 10)])
    ((trial, _),) = study.claim([Request(3, 10)], 1)
    with monkeypatch.context() as patch:
        patch.setattr(study.study, "tell", lambda *_, **__: None)
        study.tell(trial, Outcome(accuracy=0.5), rung=10)
    assert study.requeue_own() == 1
    study.close()
    study, fault, _ = opened(folder)
    assert not fault
    assert Request(3, 10) not in study.finished()
    study.close()


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "accuracy": change("UPDATE trial_values SET value = 0.75"),
    "which were correct": change(
        "UPDATE trial_user_attributes SET value_json = '\"ff\"' WHERE key = 'correct'"
    ),
    "loss lost": change("DELETE FROM trial_user_attributes WHERE key = 'loss'"),
    "reason": change("UPDATE trial_user_attributes SET value_json = '\"x\"' WHERE key = 'reason'"),
    "another network": change("UPDATE trial_params SET param_value = 7 WHERE param_name = 'network'"),
    "an unknown state": change("UPDATE trials SET state = 'PRUNEd' WHERE state = 'PRUNED'"),
    "no JSON": change("UPDATE trial_user_attributes SET value_json = '{' WHERE key = 'hash'"),
    "another study": change("UPDATE studies SET study_name = 'tox'"),
    "empty": lambda path: path.write_bytes(b""),
    "zeros": lambda path: path.write_bytes(bytes(4096)),
    "cut": lambda path: os.truncate(path, path.stat().st_size - 4096),
    "text": lambda path: path.write_text("[" * 100_000),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),  # type: ignore[func-returns-value]
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_study_is_made_anew_with_what_was_recorded_at_rungs(folder: RunFolder, damage: str) -> None:
    DAMAGES[damage](folder.path(own_study.FILE))
    study, fault, lines = opened(folder)
    assert fault.startswith(str(folder.path(own_study.FILE)))
    assert study.finished() == {Request(1, 10): Outcome(accuracy=0.5, seconds=2.0)}
    study.close()
    assert lines == files.read_lines(folder.path("records.jsonl")) == LINES[:2]
    study, fault = own_study.opened(folder, PREPARED, lines)
    assert not fault
    study.close()


def test_a_link_in_place_of_the_study_is_not_followed(folder: RunFolder, tmp_path: Path) -> None:
    path, outside = folder.path(own_study.FILE), tmp_path / "outside"
    path.rename(outside)
    path.symlink_to(outside)
    before = files.sha256(outside)
    study, fault, _ = opened(folder)
    study.close()
    assert "not a regular file" in fault
    assert files.is_regular(path)
    assert files.sha256(outside) == before


def test_a_folder_in_place_of_the_study_is_refused_by_name(folder: RunFolder) -> None:
    path = folder.path(own_study.FILE)
    path.unlink()
    path.mkdir()
    with pytest.raises(UserError, match=r"study\.db: it is not a regular file, and it cannot be removed"):
        opened(folder)
