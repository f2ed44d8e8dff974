"""Deep networks against the closed forms of their gradients and the losses they must reach."""

import math
from functools import partial
from typing import Any

import pytest

from tests.lessons.solving import work
from vitruvius.core.blocks import Lines, Panels
from vitruvius.core.errors import UserError
from vitruvius.lessons import Answer, Step, depth
from vitruvius.lessons.depth import KINDS, Question

worked = partial(work, "depth")


@pytest.fixture(scope="module")
def default() -> tuple[list[Step], Answer]:
    return worked()


def test_theory_per_layer() -> None:
    # nn.Linear's own start has variance 1 / (3 D): gain 1/3, a plain layer passes on 1/6 of the square
    theory = worked(gain="1/3", steps=1)[1]["theory"]
    assert theory["plain"]["20"] == pytest.approx(
        [6 ** (-(20 - layer) / 2) for layer in range(1, 21)], rel=1e-12
    )
    assert theory["residual"]["56"][0] == pytest.approx((7 / 6) ** 27.5, rel=1e-12)
    assert theory["normalised"]["56"] == [1.0] * 56
    assert theory["both"]["56"][0] == pytest.approx(math.sqrt((1 + 56 / 6) / (1 + 1 / 6)), rel=1e-12)


def test_measured_networks_follow_it(default: tuple[list[Step], Answer]) -> None:
    measured = default[1]["measured"]
    assert 0.1 < measured["plain"]["56"][0] < 10
    assert 2e7 < measured["residual"]["56"][0] < 2e9  # 2^27.5
    assert 1 < measured["both"]["56"][0] < 10
    for kind in measured:
        for layers, sizes in measured[kind].items():
            assert len(sizes) == int(layers)
            assert sizes[-1] == 1


def test_56_plain_layers_are_worse_than_20_and_not_with_skips_and_norms(
    default: tuple[list[Step], Answer],
) -> None:
    loss, guess = default[1]["loss"], math.log(4)
    assert loss["plain"]["20"] < 0.2
    assert 0.7 * guess < loss["plain"]["56"] < guess
    assert loss["normalised"]["20"] < loss["normalised"]["56"]  # a norm alone keeps the size only
    assert loss["both"]["56"] < loss["both"]["20"] < 0.05
    assert "56 plain layers are worse than 20" in default[0][3].says


def test_the_block_is_named_and_the_other_one_differs_by_decades(default: tuple[list[Step], Answer]) -> None:
    assert "h' = h + W relu(h)" in default[0][0].says
    assert 1e3 < default[0][2].value < 1e6


def test_both_panels_have_one_scale(default: tuple[list[Step], Answer]) -> None:
    figure = default[0][1].figure
    assert isinstance(figure, Panels)
    left, right = (panel.y_range for panel in figure.figures if isinstance(panel, Lines))
    assert left is not None
    assert left == right


def test_a_small_gain_lets_the_gradient_die_and_two_keeps_it(default: tuple[list[Step], Answer]) -> None:
    kept = default[0][-1].value
    assert 1e-23 < kept["1/3"]["56"]["size"] < 1e-20
    assert kept["1/3"]["20"]["loss"] == pytest.approx(math.log(4), abs=1e-6)
    assert 0.1 < kept["2"]["56"]["size"] < 10


@pytest.mark.parametrize("kind", KINDS)
def test_a_theory_that_is_a_third_off_per_layer_does_not_fit(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = Question(depths=(3, 12), steps=1, width=32)
    assert depth._fits(question, kind).passed
    true, fits = depth._integrated, depth._fits.__wrapped__

    def wrong(net: depth.Net) -> list[float]:
        return [size * 1.5 ** ((net.depth - layer) / 2) for layer, size in enumerate(true(net), 1)]

    monkeypatch.setattr(depth, "_integrated", wrong)
    assert not fits(question, kind).passed


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
