"""Numbers and shapes of questions: what fits is measured, what does not is told in one sentence."""

from fractions import Fraction
from typing import Annotated, Any

import pytest

from vitruvius import lessons
from vitruvius.core.errors import UserError
from vitruvius.lessons import Matrix, Vector, exact
from vitruvius.lessons.attention import Question


def test_numbers_are_the_fractions_they_are_written_as() -> None:
    assert exact((0.6, ("8/9", "1e12"), -0.0)) == (Fraction(3, 5), (Fraction(8, 9), 10**12), 0)
    assert exact("0e999999999") == 0
    assert exact(None) is None


@pytest.mark.parametrize(
    "number", [1.1e12, 9e-13, "1e999999999", "1e-999999999", "1/9999999999999", float("inf")]
)
def test_a_number_out_of_reach_is_refused_with_its_field(number: Any) -> None:
    with pytest.raises(UserError, match=r"^keys\.0\.2: '.*' must be 0 or between 1e-12 and 1e12 in size$"):
        Question(keys=[[2, 0, number], [3, -1, 0], [1, 0, 2]])


@pytest.mark.parametrize("word", ["nan", "x", "1/0", ""])
def test_a_word_is_not_a_number(word: str) -> None:
    with pytest.raises(UserError, match=f"keys.0.0: '{word}' is not a number"):
        Question(keys=[[word]])


class Layer(lessons.Question):
    """Three shapes, one of them optional, one a product of two letters."""

    limits = {"N": (2, 4)}
    x: Annotated[Matrix, "N D"] = exact(((1, 2, 3), (4, 5, 6)))
    w: Annotated[tuple[Matrix, ...], "H D E"] = exact((((1, 0), (0, 1), (1, 1)),))
    out: Annotated[Matrix, "H*E 2"] = exact(((1, 0), (0, 1)))
    bias: Annotated[Vector | None, "E"] = None


def test_letters_are_measured() -> None:
    assert Layer().sizes == {"N": 2, "D": 3, "H": 1, "E": 2}
    assert Layer(bias=[1, 2]).bias == exact((1, 2))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"x": []}, "x is 0 x 0: it needs N x D with N from 2 to 4 and D from 1 to 64"),
        ({"x": [[], []]}, "x is 2 x 0: it needs N x D with D from 1 to 64"),
        ({"x": [[1, 2, 3]] * 5}, "x is 5 x 3: it needs N x D with N from 2 to 4"),
        (
            {"x": [[1], [2, 3], [4, 5, 6]]},
            "x has rows of 1 or 2 or 3 entries: it needs N x D, rows of one length",
        ),
        ({"x": [[1], [2]]}, "w is 1 x 3 x 2: it needs H x D x E with D = 1 as in x"),
        ({"out": [[1, 0]]}, "out is 1 x 2: it needs H*E x 2 with H*E = 2 as in w"),
        ({"out": [[1], [0]]}, "out is 2 x 1: it needs H*E x 2"),
        ({"bias": [1]}, "bias has 1 entry: it needs E = 2 as in w"),
    ],
)
def test_a_field_that_does_not_fit_is_refused_in_one_sentence(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Layer(**fields)
    assert str(caught.value) == message
