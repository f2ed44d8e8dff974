"""The shortest solution against equations solved by hand."""

from fractions import Fraction
from typing import Any

import pytest

from tests.lessons.solving import answer_of
from vitruvius.core.errors import UserError
from vitruvius.lessons.min_norm import Question

answer = answer_of("min_norm")


def test_the_default_question() -> None:
    # w_1 + w_3 = 1, w_2 + w_3 = 5: w = (1 - t, 5 - t, t), shortest where -(1 - t) - (5 - t) + t = 0, t = 2.
    # 2 w + X^T lambda = 0 then gives lambda = (2, -6).
    found = answer()
    assert found["solution"] == [-1, 3, 2]
    assert found["multipliers"] == [2, -6]
    assert found["limit"] == [-1, 3, 2]
    # The first step from 0 is eta 2 X^T y = 1/2 (1, 5, 6).
    assert found["iterates"][:2] == [[0, 0, 0], [Fraction(1, 2), Fraction(5, 2), 3]]
    assert len(found["iterates"]) == 6


def test_the_part_of_the_start_that_x_does_not_see_stays() -> None:
    # (1, 1, -1) is what X sends to 0: begun there, descent ends at the shortest solution plus that.
    found = answer(start=[1, 1, -1])
    assert found["limit"] == [0, 4, 1]
    assert found["solution"] == [-1, 3, 2]


def test_dependent_rows_have_one_solution_and_the_shortest_multipliers() -> None:
    # x + 2y = 1 written twice over: w = (1, 2) / 5, lambda is the shortest with lambda_1 + 2 lambda_2 = -2/5.
    found = answer(x=[[1, 2], [2, 4]], y=[1, 2], step="1/50")
    assert found["solution"] == [Fraction(1, 5), Fraction(2, 5)]
    assert found["multipliers"] == [Fraction(-2, 25), Fraction(-4, 25)]


def test_a_square_system_has_only_one_solution() -> None:
    assert answer(x=[[2, 0], [0, 1]], y=[2, 3], step="1/8", start=[5, 5], iterations=1)["limit"] == [1, 3]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"x": [[1, 2], [2, 4]], "y": [1, 3]}, "y is not in the span of x's columns"),
        ({"step": "1/2"}, "step is 1/2: descent needs a step between 0 and 0.333333"),
        ({"step": 0}, "step is 0"),
        ({"x": [[0, 0]], "y": [0]}, "x has only zeros"),
        ({"x": [[1, 2], [3]]}, "x has rows of 1 or 2 entries: it needs N x D, rows of one length"),
        ({"y": [1]}, "y has 1 entry: it needs N = 2 as in x"),
        ({"start": [1]}, "start has 1 entry: it needs D = 3 as in x"),
        ({"iterations": 100}, "iterations must be less than or equal to 20"),
    ],
)
def test_a_question_that_does_not_fit_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(**fields)
    assert message in str(caught.value)
