"""The loop without zero_grad against its recursion and its closed form."""

import math
from fractions import Fraction
from functools import partial
from typing import Any

import pytest

from tests.lessons.solving import work
from vitruvius.core.errors import UserError
from vitruvius.lessons import Answer
from vitruvius.lessons.zero_grad import Question, solve

worked = partial(work, "zero_grad")


def test_the_default_iterates() -> None:
    # rate x curvature = 1/2: halves with zeroing; without, w'' - 2 w' + w = -w'/2
    _, found = worked()
    assert found["iterates"]["with"] == [Fraction(1, 2**t) for t in range(9)]
    without = [Fraction(1), Fraction(1, 2)]
    for _ in range(7):
        without.append(2 * without[-1] - without[-2] - without[-1] / 2)
    assert found["iterates"]["without"] == without


def test_the_closed_form_of_the_swing() -> None:
    # cos(theta) = 1 - 1/4; w_t = cos((t + 1/2) theta) / cos(theta / 2)
    _, found = worked(steps=40)
    theta = math.acos(0.75)
    expected = [math.cos((t + 0.5) * theta) / math.cos(theta / 2) for t in range(41)]
    assert [float(w) for w in found["iterates"]["without"]] == pytest.approx(expected, abs=1e-12)
    assert found["equivalent"]["period"] == pytest.approx(2 * math.pi / theta, rel=1e-12)
    assert found["equivalent"]["momentum"] == found["equivalent"]["root"] == 1


def test_a_cycle_of_six_at_the_best_learning_rate() -> None:
    _, found = worked(curvature=1000)
    assert found["iterates"] == {"with": [1] + [0] * 8, "without": [1, 0, -1, -1, 0, 1, 1, 0, -1]}
    assert found["equivalent"]["period"] == pytest.approx(6)


def test_beyond_four_over_the_curvature_it_grows() -> None:
    # z^2 + 5/2 z + 1 = 0 has the roots -2 and -1/2
    _, found = worked(rate="0.009")
    assert found["equivalent"]["root"] == pytest.approx(2)
    assert found["equivalent"]["period"] is None


def test_noise_is_forgotten_with_zeroing_and_adds_up_without() -> None:
    # kicks of variance (1/1000)^2 1000^2 / 100 = 1/100; with zeroing 1/100 / (1 - 1/4)
    _, found = worked()
    assert found["noisy"]["with"] == pytest.approx(0.01 / 0.75, rel=1e-9)
    # without, a kick swings for ever with amplitude 1 / sin(theta): half its square per step on average
    quiet = worked(noise=0)[1]["noisy"]["without"]
    added = 200 * 0.01 / (2 * (1 - 0.75**2))
    assert found["noisy"]["without"] - quiet == pytest.approx(added, rel=0.05)


def test_the_patch_clears_inside_the_loop() -> None:
    _, found = worked()
    lines = found["patch"].splitlines()
    assert [line for line in lines if line[0] == "-"] == ["-optimizer.zero_grad()"]
    assert [line for line in lines if line[0] == "+"] == ["+    optimizer.zero_grad()"]
    assert (
        lines.index("+    optimizer.zero_grad()") == lines.index(" for inputs, labels in training_set:") + 1
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"rate": 0}, "rate is 0, it must be positive"),
        ({"curvature": -1}, "curvature is -1, it must be positive"),
        ({"rate": 1}, "rate x curvature is 500, it needs to be at most 5"),
        ({"noise": -1}, "noise is -1, a standard deviation is not negative"),
        ({"start": 0}, "start is 0, it must differ from target"),
        ({"steps": 0}, "steps must be greater than or equal to 1"),
    ],
)
def test_a_question_that_does_not_fit_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(**fields)
    assert message in str(caught.value)


def test_a_slow_swing_keeps_its_digits() -> None:
    # pace 5e-10: one swing takes 2 pi over its root
    *_, found = solve(Question(rate="1e-12"))
    assert isinstance(found, Answer)
    assert found["equivalent"]["period"] == pytest.approx(2 * math.pi / 5e-10**0.5, rel=1e-9)
