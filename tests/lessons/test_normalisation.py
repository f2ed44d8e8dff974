"""Normalisation statistics against fractions added by hand."""

import math
import statistics
from fractions import Fraction
from typing import Any

import pytest

from tests.lessons.solving import answer_of
from vitruvius.core.errors import UserError
from vitruvius.lessons.normalisation import Question

X = [[[4, 3, 2], [1, 4, 3]], [[3, 4, 1], [4, 2, 2]], [[3, 2, 3], [4, 1, 2]], [[1, 1, 3], [4, 1, 2]]]

answer = answer_of("normalisation")


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
        (
            {"tensor": [[[1, 2]], [[1, 2], [3, 4]]]},
            "rows of 1 or 2 entries: it needs N x C x F, rows of one length",
        ),
        ({"tensor": [[[1, 2], [1]]]}, "rows of 1 or 2 entries: it needs N x C x F"),
        ({"tensor": [[[1], [2]]]}, "tensor is 1 x 2 x 1: it needs N x C x F with F from 2"),
        ({"tensor": [[[1, 1], [2, 3]]]}, "variance of 0: needs eps above 0"),
        ({"eps": -1}, "eps is -1: needs at least 0"),
        ({"tensor": [[[1, 2] * 1100]] * 2}, "more than 4096 values"),
        ({"tensor": []}, "tensor is 0 x 0 x 0: it needs N x C x F with N from 1"),
    ],
)
def test_a_question_that_cannot_be_normalised_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(**fields)
    assert message in str(caught.value)
