"""Dropout's expectation against masks listed here."""

import itertools
from fractions import Fraction
from typing import Any

import pytest

from tests.lessons.solving import answer_of
from vitruvius.core.errors import UserError
from vitruvius.lessons.dropout import Question

answer = answer_of("dropout")


def expected(x: list[list[int]], y: list[int], w: list[Fraction], p: Fraction) -> Fraction:
    """The mean loss, mask by mask."""
    rows, columns = len(x), len(w)
    total = Fraction(0)
    for mask in itertools.product((0, 1), repeat=rows * columns):
        chance = p ** sum(mask) * (1 - p) ** (len(mask) - sum(mask))
        kept = [[x[i][j] * mask[i * columns + j] for j in range(columns)] for i in range(rows)]
        total += chance * sum(
            (y[i] - sum(k * b for k, b in zip(kept[i], w, strict=True))) ** 2 for i in range(rows)
        )
    return total


def test_the_default_expectation_is_that_of_its_64_masks() -> None:
    found = answer()
    assert found["expected_loss"] == expected(
        [[1, 2], [2, 1], [0, 1]], [1, 2, 1], [Fraction(1), Fraction(1, 2)], Fraction(4, 5)
    )
    # p X w = 4/5 (2, 5/2, 1/2): residuals -3/5, 0, 3/5; the columns have squared lengths 5 and 6.
    assert found["data_term"] == Fraction(18, 25)
    assert found["penalty"] == Fraction(4, 25) * (5 + Fraction(6, 4))
    assert found["expected_loss"] == found["data_term"] + found["penalty"] == Fraction(44, 25)


def test_the_minimiser_solves_the_normal_equations() -> None:
    # p^2 G + p (1-p) diag G = [[4, 64/25], [64/25, 24/5]] and p X^T y = 4/5 (5, 5): Cramer's rule.
    a, b, d, right = Fraction(4), Fraction(64, 25), Fraction(24, 5), Fraction(4)
    det = a * d - b * b
    assert answer()["minimiser"] == [(d - b) * right / det, (a - b) * right / det]


def test_another_regression() -> None:
    # One entry: E (1 - 2 r w)^2 with p = 1/4 and w = 3 is 3/4 + 25/4 = 7; 1 - w + w^2 is least at 1/2.
    found = answer(x=[[2]], y=[1], w=[3], keep=0.25)
    assert found["expected_loss"] == 7
    assert found["minimiser"] == [Fraction(1, 2)]


def test_keeping_everything_leaves_plain_least_squares() -> None:
    found = answer(keep=1)
    assert found["penalty"] == 0
    # X^T X = [[5, 4], [4, 6]], X^T y = (5, 5): w = (10, 5) / 14.
    assert found["minimiser"] == [Fraction(5, 7), Fraction(5, 14)]


def test_a_column_of_zeros_leaves_its_weight_at_0() -> None:
    assert answer(x=[[1, 0], [1, 0]], y=[1, 3], w=[1, 7], keep=0.5)["minimiser"][1] == 0


def test_the_largest_question() -> None:
    assert (
        answer(x=[[1, 2, 3, 4]] * 4, y=[1, 2, 3, 4], w=[1, 0, 1, 0], keep="1/3")["penalty"]
        == Fraction(2, 9) * 40
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"w": [1]}, "w has 1 entry: it needs D = 2 as in x"),
        ({"y": [1]}, "y has 1 entry: it needs N = 3 as in x"),
        ({"keep": 0}, "keep is 0: needs a probability above 0"),
        ({"keep": 1.5}, "keep is 3/2"),
        ({"x": [[1, 2]] * 9, "y": [1] * 9}, "x has 18 entries, 2 to that power masks: needs at most 16"),
        ({"w": []}, "w has 0 entries"),
    ],
)
def test_a_question_that_does_not_fit_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(**fields)
    assert message in str(caught.value)
