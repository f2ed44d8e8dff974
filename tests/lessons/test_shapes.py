"""Numbers and shapes of questions: what fits is measured, what does not is told in one sentence."""

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from vitruvius.core.errors import UserError
from vitruvius.lessons import _shapes, exact
from vitruvius.lessons.attention import Question


def test_numbers_are_the_fractions_they_are_written_as() -> None:
    assert exact((0.6, ("8/9", "1e12"), -0.0)) == (Fraction(3, 5), (Fraction(8, 9), 10**12), 0)
    assert exact("0e999999999") == 0
    assert exact(None) is None


@pytest.mark.parametrize("number", [1.1e12, 9e-13, "1e999999999", "1e-999999999", "1/9999999999999", float("inf")])
def test_a_number_out_of_reach_is_refused_with_its_field(number: Any) -> None:
    with pytest.raises(UserError, match=r"^keys\.0\.2: '.*' must be 0 or between 1e-12 and 1e12 in size$"):
        Question(keys=[[2, 0, number], [3, -1, 0], [1, 0, 2]])


@pytest.mark.parametrize("word", ["nan", "x", "1/0", ""])
def test_a_word_is_not_a_number(word: str) -> None:
    with pytest.raises(UserError, match=f"keys.0.0: '{word}' is not a number"):
        Question(keys=[[word]])


def test_a_matrix_is_measured() -> None:
    assert _shapes.matrix("x", [[1, 2, 3], [4, 5, 6]]) == (2, 3)


@pytest.mark.parametrize(
    ("rows", "has"),
    [
        ([], "no rows"),
        ([[]], "1 row of 0 entries"),
        ([[1], [2, 3], [4, 5, 6]], "3 rows of 1 or 2 or 3 entries"),
        ([[1]] * 5, "5 rows of 1 entry"),
        ([[1] * 4], "1 row of 4 entries"),
    ],
)
def test_a_matrix_that_is_ragged_or_too_large_is_refused(rows: list[list[int]], has: str) -> None:
    with pytest.raises(ValueError, match=f"^x has {has}: it needs 1 to 4 rows of one length, 1 to 3$"):
        _shapes.matrix("x", rows, most=(4, 3))


def test_too_few_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="x has 1 row of 1 entry: it needs 2 to 64 rows"):
        _shapes.matrix("x", [[1]], least=2)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"u": [[1]]}, "u has 1 row of 1 entry: it needs 2 x 2"),
        ({"v": [[1]]}, "v has 1 row of 1 entry: it needs 1 x 2"),
        ({"inputs": [[1]]}, "inputs has 1 row of 1 entry: it needs 1 x 3"),
        ({"targets": []}, "targets has no rows: it needs 1 x 1"),
    ],
)
def test_a_recurrent_net_must_fit_together(fields: dict[str, Any], message: str) -> None:
    net = {"w": [[1] * 3] * 2, "u": [[1] * 2] * 2, "v": [[1] * 2], "inputs": [[1] * 3], "targets": [[1]]}
    _shapes.recurrent(SimpleNamespace(**net), 4, 4)
    with pytest.raises(ValueError, match=message):
        _shapes.recurrent(SimpleNamespace(**{**net, **fields}), 4, 4)
