"""A key that moves, with two keys, where everything is a logistic function."""

from math import exp, log, sqrt
from typing import Any

import pytest

from tests.lessons.solving import answer_of, work
from vitruvius.core.errors import UserError
from vitruvius.lessons.key_perturbation import Question

TWO = {"q": [[2]], "k": [[1], [0]], "v": [[10, 0], [0, 5]], "index": 0}
"""One query, width 1 (so the scale is 1): the key that moves has log-odds 2."""

answer = answer_of("key_perturbation")


def logistic(x: float) -> float:
    return 1 / (1 + exp(-x))


def test_a_vector_added_to_the_key() -> None:
    found, w = answer(**TWO, epsilon=["1/4"]), logistic(2)
    assert found["output_before"] == [pytest.approx([10 * w, 5 * (1 - w)], rel=1e-12)]
    moved = logistic(2.5)
    assert found["output_after"] == [pytest.approx([10 * moved, 5 * (1 - moved)], rel=1e-12)]
    tangent = w + 0.5 * w * (1 - w)
    assert found["first_order"] == [pytest.approx([10 * tangent, 5 * (1 - tangent)], rel=1e-12)]
    assert found["covariance"] is None


def test_noise_spreads_along_one_line() -> None:
    # d output / d key = 2 w (1 - w) (10, -5); the covariance is sigma^2 times its outer product.
    found, w = answer(**TWO, sigma="1/100"), logistic(2)
    slope = [2 * w * (1 - w) * 10, -2 * w * (1 - w) * 5]
    expected = [[1e-4 * a * b for b in slope] for a in slope]
    assert found["covariance"] == [[pytest.approx(row, rel=1e-12) for row in expected]]
    assert found["first_order"] == found["output_before"]
    # Second order: the mean weight moves by (2 sigma)^2 / 2 w (1 - w) (1 - 2 w), up to sigma^4.
    shift = found["output_after"][0][0] - found["output_before"][0][0]
    assert shift == pytest.approx(10 * 2e-4 * w * (1 - w) * (1 - 2 * w), rel=1e-3)


def test_a_stretched_key_helps_only_queries_that_agree_with_it() -> None:
    found = answer(q=[[2], [-2], [0]], k=[[1], [0]], v=[[1], [0]], index=0, stretch=3)
    assert [row[0] for row in found["output_after"]] == pytest.approx(
        [logistic(6), logistic(-6), 0.5], rel=1e-12
    )
    assert found["helps"] == [True, False, False]


def test_the_default_is_small_noise_and_the_scale_the_root_of_the_length() -> None:
    assert Question().sigma == Question(sigma="1/10").sigma
    # Scores of the first query over 2, the root of 4: 1, 2 and 3/2.
    total = exp(1) + exp(2) + exp(1.5)
    expected = [(exp(1) + 2 * exp(1.5)) / total, (exp(2) + 2 * exp(1.5)) / total]
    assert answer()["output_before"][0] == pytest.approx(expected, rel=1e-12)


def test_a_scale_may_be_given() -> None:
    found = answer(**TWO, stretch=2, beta="1/2")
    assert log(found["output_after"][0][0] / (10 - found["output_after"][0][0])) == pytest.approx(2)


def test_a_very_long_key_takes_everything_without_a_warning() -> None:
    assert answer(**TWO, stretch=10**6)["output_after"] == [pytest.approx([10, 0], abs=1e-12)]
    assert answer(**{**TWO, "q": [[-2]]}, stretch=10**6)["output_after"] == [pytest.approx([0, 5], abs=1e-12)]


def test_without_a_slope_noise_changes_nothing() -> None:
    found = answer(**{**TWO, "q": [[0]]}, sigma=1)
    assert found["output_after"] == [pytest.approx([5, 2.5], rel=1e-12)]
    assert sqrt(sum(value**2 for row in found["covariance"][0] for value in row)) == 0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"sigma": 1, "stretch": 2},
            "sigma and stretch are given: it needs one of epsilon, sigma and stretch",
        ),
        ({"index": 3}, "index is 3: it needs 0 to 2"),
        ({"epsilon": [1]}, "epsilon has 1 entry: it needs D = 4 as in q"),
        ({"sigma": 0}, "sigma must be greater than 0"),
        ({"beta": 0}, "beta must be greater than 0"),
        ({"q": []}, "q is 0 x 0: it needs N x D with N from 1 to 64"),
        ({"k": [[1, 0, 0, 0]], "v": [[1]]}, "k is 1 x 4: it needs M x D with M from 2 to 64"),
    ],
)
def test_a_bad_question_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(**fields)
    assert message in str(caught.value)


def test_the_jacobian_in_the_key() -> None:
    steps, _ = work("key_perturbation", **TWO, epsilon=["1/4"])
    w = logistic(2)  # h = (10 w, 5 (1 - w)), q = 2, beta = 1: the slope of w is 2 w (1 - w)
    found = next(step.value for step in steps if "Jacobian" in step.says)
    assert found.tolist() == [pytest.approx([20 * w * (1 - w)]), pytest.approx([-10 * w * (1 - w)])]


@pytest.mark.parametrize("change", [{"stretch": 7}, {"epsilon": [0, 3]}])
def test_what_is_at_right_angles_to_the_query_changes_nothing(change: dict[str, Any]) -> None:
    found = answer(q=[[1, 0]], k=[[0, 2], [1, 1]], v=[[1, 0], [0, 1]], index=0, **change)
    assert found["output_after"] == [pytest.approx(found["output_before"][0], rel=1e-12)]
