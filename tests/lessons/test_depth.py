"""Deep networks against the closed forms of their gradients and the losses they must reach."""

import math
from functools import partial
from typing import Any

import pytest

from tests.lessons.solving import work
from vitruvius.core.errors import UserError
from vitruvius.lessons import Answer, Step
from vitruvius.lessons.depth import Question

worked = partial(work, "depth")


@pytest.fixture(scope="module")
def default() -> tuple[list[Step], Answer]:
    return worked()


def test_theory_per_layer(default: tuple[list[Step], Answer]) -> None:
    # nn.Linear's own start has variance 1 / (3 D): gain 1/3, a plain layer passes on 1/6 of the square
    _, found = default
    theory = found["theory"]
    assert theory["plain"]["20"] == pytest.approx(
        [6 ** (-(20 - layer) / 2) for layer in range(1, 21)], rel=1e-12
    )
    assert theory["residual"]["56"][0] == pytest.approx((7 / 6) ** 27.5, rel=1e-12)
    assert theory["normalised"]["56"] == [1.0] * 56
    assert theory["both"]["56"][0] == pytest.approx(math.sqrt((1 + 56 / 6) / (1 + 1 / 6)), rel=1e-12)


def test_measured_networks_follow_it(default: tuple[list[Step], Answer]) -> None:
    measured = default[1]["measured"]
    assert 1e-23 < measured["plain"]["56"][0] < 1e-20
    assert 20 < measured["residual"]["56"][0] < 200
    assert 1 < measured["both"]["56"][0] < 10
    for kind in measured:
        for depth, sizes in measured[kind].items():
            assert len(sizes) == int(depth)
            assert sizes[-1] == 1


def test_skips_train_and_plain_layers_do_not(default: tuple[list[Step], Answer]) -> None:
    loss, guess = default[1]["loss"], math.log(4)
    assert loss["plain"]["20"] == pytest.approx(guess, abs=1e-6)
    assert loss["plain"]["56"] == pytest.approx(guess, abs=1e-6)
    assert (
        loss["normalised"]["20"] < loss["normalised"]["56"]
    )  # a norm alone keeps the size, not the differences
    assert max(loss["residual"].values()) < 0.1
    assert max(loss["both"].values()) < 1


def test_keeping_the_size_is_not_enough(default: tuple[list[Step], Answer]) -> None:
    he = default[0][-1].value
    for depth in ("20", "56"):
        assert 0.1 < he[depth]["size"] < 10
        assert he[depth]["loss"] > 1


def test_a_training_that_diverges_has_no_loss() -> None:
    _, found = worked(depths=[30], gain=4, steps=5, rate=1)
    assert found["loss"]["residual"]["30"] is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"depths": [1]}, "depths has [1], it needs numbers of layers from 2 to 100"),
        ({"depths": []}, "depths has []"),
        ({"gain": 0}, "gain is 0, it must be from 1/100 to 4"),
        ({"steps": 500, "width": 256}, "depths x steps x width^2 is 2.5e+09, it needs to be at most 5e7"),
    ],
)
def test_a_question_that_does_not_fit_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(**fields)
    assert message in str(caught.value)
