"""Normalisation statistics against fractions added by hand."""

import math
import statistics
from fractions import Fraction
from typing import Any

import pytest

from vitruvius.core.errors import UserError
from vitruvius.lessons import Answer
from vitruvius.lessons.normalisation import Question, prove, solve

X = [[[4, 3, 2], [1, 4, 3]], [[3, 4, 1], [4, 2, 2]], [[3, 2, 3], [4, 1, 2]], [[1, 1, 3], [4, 1, 2]]]


def answer(**fields: Any) -> Answer:
    question = Question(**fields)
    *_, found = solve(question)
    assert isinstance(found, Answer)
    assert all(proof.passed for proof in prove(question, found))
    return found


def moments(values: list[int]) -> tuple[Fraction, Fraction]:
    exact = [Fraction(value) for value in values]
    return statistics.mean(exact), statistics.pvariance(exact)


def test_batch_statistics_are_per_channel() -> None:
    expected = [moments([x for sample in X for x in sample[channel]]) for channel in (0, 1)]
    found = answer()["batch"]
    assert expected == [(Fraction(5, 2), Fraction(13, 12)), (Fraction(5, 2), Fraction(17, 12))]
    assert found == {"mean": [m for m, _ in expected], "variance": [v for _, v in expected], "axes": [0, 2]}


def test_layer_statistics_are_per_sample() -> None:
    expected = [moments([x for row in sample for x in row]) for sample in X]
    found = answer()["layer"]
    assert found == {"mean": [m for m, _ in expected], "variance": [v for _, v in expected], "axes": [1, 2]}


def test_instance_statistics_are_per_sample_and_channel() -> None:
    found = answer()["instance"]
    assert found["mean"] == [[moments(row)[0] for row in sample] for sample in X]
    assert found["variance"] == [[moments(row)[1] for row in sample] for sample in X]
    assert found["mean"][3] == [Fraction(5, 3), Fraction(7, 3)]
    assert found["variance"][2] == [Fraction(2, 9), Fraction(14, 9)]
    assert found["axes"] == [2]


def test_normalised_values_have_mean_0_and_variance_1() -> None:
    found = answer()["normalised"]
    assert found["batch"][0][0][0] == pytest.approx(1.5 / math.sqrt(13 / 12), rel=1e-12)
    first = [x for sample in found["batch"] for x in sample[0]]
    assert statistics.fmean(first) == pytest.approx(0, abs=1e-12)
    assert statistics.pvariance(first) == pytest.approx(1)


def test_another_tensor_with_eps() -> None:
    found = answer(tensor=[[[1, 3]], [["1/2", "1/2"]]], eps=1)
    assert found["batch"] == {"mean": [Fraction(5, 4)], "variance": [Fraction(17, 16)], "axes": [0, 2]}
    assert found["instance"]["variance"] == [[1], [0]]
    assert found["normalised"]["instance"][0][0] == pytest.approx([-(0.5**0.5), 0.5**0.5])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"tensor": [[[1, 2]], [[1, 2], [3, 4]]]}, "samples of [1, 2] channels"),
        ({"tensor": [[[1, 2], [1]]]}, "[1, 2] features"),
        ({"tensor": [[[1], [2]]]}, "at least 2 features"),
        ({"tensor": [[[1, 1], [2, 3]]]}, "variance of 0: needs eps above 0"),
        ({"eps": -1}, "eps is -1: needs at least 0"),
        ({"tensor": [[[1, 2] * 1100]] * 2}, "more than 4096 values"),
        ({"tensor": []}, "tensor has samples of [] channels"),
    ],
)
def test_a_question_that_cannot_be_normalised_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(**fields)
    assert message in str(caught.value)
