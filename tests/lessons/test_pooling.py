"""Pooling by hand, and what shifts and missing pixels do to it."""

from fractions import Fraction as F
from typing import Any

import pytest

from tests.lessons.solving import answer_of
from vitruvius.core.errors import UserError
from vitruvius.lessons.pooling import Question

answer = answer_of("pooling")


def test_both_matrices_of_the_assignment() -> None:
    # Windows of the first matrix hold 8, 6, 6 and 6 ones of 9, those of the ring 3 each.
    output = answer()["output"]
    assert output["average"] == [[[F(8, 9), F(2, 3)], [F(2, 3), F(2, 3)]], [[F(1, 3)] * 2] * 2]
    assert output["max"] == [[[1, 1], [1, 1]]] * 2


def test_a_shift_of_a_single_bright_pixel() -> None:
    # 4 x 4, one pixel of 4 at row 0, column 0, windows of 2 by 2 steps: the pixel moves inside its window.
    image = [[4, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    found = answer(matrix=image, size=2, stride=2)
    assert found["output"] == {"average": [[1, 0], [0, 0]], "max": [[4, 0], [0, 0]]}
    assert found["shift"] == {"pixels": F(8, 16), "average": 0, "max": 0}
    assert found["missing"] == {"pixels": 4, "average": 1, "max": 4}


def test_a_missing_pixel_is_not_noticed_where_an_equal_one_is_left() -> None:
    found = answer(matrix=[[3, 3], [1, 0]], size=2, stride=2, kind="max")
    assert found["output"] == [[3]]
    assert found["missing"] == {"pixels": F(7, 3), "max": 0}


def test_below_zero_a_missing_pixel_is_the_largest() -> None:
    # Each deleted pixel becomes 0, the new maximum, so the output rises from -1 to 0 whichever is lost.
    assert answer(matrix=[[-1, -2], [-3, -4]], size=2, stride=1, kind="max")["missing"]["max"] == 1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"matrix": [[1, 2], [3]]}, "matrix has rows of 1 or 2 entries: it needs H x W, rows of one length"),
        (
            {"matrix": [[1, 2], [3, 4]]},
            "matrix is 2 x 2: it needs H x W with H from 3 to 32 and W from 3 to 32",
        ),
        ({"matrix": []}, "matrix is 0 x 0: it needs H x W with H from 3 to 32"),
        ({"matrix": [[1, "x"]]}, "'x' is not a number"),
        ({"kind": "mean"}, "kind must be 'average', 'max' or 'both'"),
        ({"stride": 0}, "stride must be greater than or equal to 1"),
    ],
)
def test_a_bad_question_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(**fields)
    assert message in str(caught.value)
