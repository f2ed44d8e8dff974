"""A study is opened while another search sets its storage up."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.exceptions import StorageInternalError
from sqlalchemy.exc import IntegrityError, OperationalError, ProgrammingError

from vitruvius.core.errors import UserError
from vitruvius.searching import study
from vitruvius.searching.study import Request, Study

Fail = Callable[[int, type[Exception]], list[int]]


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch) -> Fail:
    """Let the first studies that are made fail, and list the tries."""
    real: Any = optuna.create_study
    monkeypatch.setattr(study, "WAIT", 0)

    def plan(errors: int, kind: type[Any]) -> list[int]:
        tries: list[int] = []

        def create(**options: Any) -> Any:
            tries.append(len(tries))
            if len(tries) <= errors:
                raise kind("CREATE TABLE studies", None, Exception("duplicate key"))
            return real(**options)

        monkeypatch.setattr(optuna, "create_study", create)
        return tries

    return plan


def opened(folder: Path) -> Study:
    return Study(f"sqlite:///{folder / 'study.db'}", "toy", "test", "settings")


@pytest.mark.parametrize("kind", [IntegrityError, ProgrammingError, StorageInternalError])
def test_what_another_search_makes_in_the_same_moment_is_taken(
    fail: Fail, tmp_path: Path, kind: type[Exception]
) -> None:
    tries = fail(2, kind)
    opened(tmp_path).close()
    assert len(tries) == 3


@pytest.mark.parametrize(("kind", "count"), [(IntegrityError, study.OPENINGS), (OperationalError, 1)])
def test_an_error_that_stays_is_told_and_one_of_the_server_at_once(
    fail: Fail, tmp_path: Path, kind: type[Exception], count: int
) -> None:
    tries = fail(99, kind)
    with pytest.raises(UserError, match="duplicate key"):
        opened(tmp_path)
    assert len(tries) == count


def test_a_trial_whose_parameters_are_half_set_by_another_machine_is_known(tmp_path: Path) -> None:
    found, wanted = opened(tmp_path), [Request(1, 10)]
    found.queue(wanted)
    taken = found.study.ask()
    taken._suggest("network", study._distributions()["network"])
    found.queue(wanted)
    assert len(found.study.get_trials()) == 1
    drawn = found.study.ask()  # nothing waits: a trial that nobody has queued
    drawn._suggest("network", study._distributions()["network"])
    assert not found.claim(wanted, 1)
    found.close()
