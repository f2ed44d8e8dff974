"""What a search in progress expects of the time that is left."""

from types import SimpleNamespace
from typing import Any

import pytest

from vitruvius.arch.arch import Arch
from vitruvius.searching.pace import Pace
from vitruvius.searching.settings import Config
from vitruvius.searching.state import Search
from vitruvius.searching.study import Request
from vitruvius.searching.trials import Outcome

ARCH = Arch(image=8, patch=4, channels=1, classes=2, width=8, depth=1, heads=2, mlp=8)


def search(done: dict[Request, Outcome], **settings: Any) -> Any:
    """A search of two networks whose every step takes two seconds by the steps that were timed."""
    prepared = SimpleNamespace(
        config=Config(**settings),
        pace=Pace(per_layer=1.0, per_mac=0.0),
        networks={number: SimpleNamespace(arch=ARCH) for number in (0, 1)},
    )
    study = SimpleNamespace(finished=lambda: done)
    return Search(prepared, SimpleNamespace(), study, SimpleNamespace(), [])  # type: ignore[arg-type]


def test_before_the_first_training_the_timed_steps_decide() -> None:
    assert search({}).seconds_left([(0, 10), (1, 5)]) == pytest.approx(30)
    assert search({}, spread="processes", workers=2).seconds_left([(0, 10), (1, 5)]) == pytest.approx(15)


def test_trainings_that_took_longer_than_predicted_lengthen_what_is_left() -> None:
    """Twelve steps in all, as a continued training takes only those that it had not taken yet."""
    done = {
        Request(0, 8): Outcome(accuracy=0.6, seconds=32.0),
        Request(0, 4): Outcome(accuracy=0.5, seconds=16.0),
        Request(1, 4): Outcome(accuracy=0.5, seconds=12.0),
        Request(1, 8): Outcome(failed="the loss became nan", seconds=99.0),
    }
    assert search(done).slowness() == pytest.approx(60 / 24)
    assert search(done).seconds_left([(0, 10)]) == pytest.approx(50)
