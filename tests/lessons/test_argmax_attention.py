"""Argmax attention against scores and distances worked by hand."""

import math
from fractions import Fraction
from typing import Any

import pytest

from tests.lessons.solving import answer_of
from vitruvius.core.errors import UserError
from vitruvius.lessons.argmax_attention import Question

answer = answer_of("argmax_attention")


def test_the_default_question() -> None:
    found = answer()
    assert found["scores"] == [1 + 2, 3 + 8, 5, 2]
    assert found["output"] == [1, 4, 3]
    assert found["gradients"]["query"] == [0, 0, 0]
    assert found["gradients"]["keys"] == [[0, 0, 0]] * 4
    assert found["gradients"]["values"] == [[0] * 3, [1] * 3, [0] * 3, [0] * 3]
    # leads 8, 6, 9 over differences of keys of length sqrt(18), sqrt(50), sqrt(18)
    assert found["margin"] == pytest.approx(
        min(8 / math.sqrt(18), 6 / math.sqrt(50), 9 / math.sqrt(18)), rel=1e-14
    )


def test_a_rational_margin_stays_a_fraction() -> None:
    # keys (3, 4) and (0, 0) are 5 apart, their scores 3 + 2 = 5
    assert answer(keys=[[3, 4], [0, 0]], values=[[1], [2]], query=[1, "1/2"])["margin"] == Fraction(1)


def test_the_first_of_tied_keys_wins_and_the_margin_is_nothing() -> None:
    found = answer(keys=[[1, 0, 1], [0, 1, 1], [0, 0, 1]], values=[[1], [2], [3]], query=[1, 1, "1/3"])
    assert found["output"] == [1]
    assert found["margin"] == 0


@pytest.mark.parametrize("keys", [[[1, 0]], [[1, 0], [1, 0]]])
def test_equal_keys_have_no_margin(keys: list[list[int]]) -> None:
    found = answer(keys=keys, values=[[7]] * len(keys), query=[1, 1])
    assert found["margin"] is None
    assert found["output"] == [7]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"query": [1, 2]}, "query has 2 entries: it needs D = 3 as in keys"),
        ({"values": [[1]]}, "values is 1 x 1: it needs M x E with M = 4 as in keys"),
        ({"values": [[1], [2], [3], [4, 5]]}, "values has rows of 1 or 2 entries"),
        ({"keys": []}, "keys is 0 x 0: it needs M x D with M from 1 to 64"),
    ],
)
def test_a_question_that_does_not_fit_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(**fields)
    assert message in str(caught.value)


def test_a_query_on_a_boundary_has_no_margin() -> None:
    assert answer(query=[0, 0, 0])["margin"] == 0
