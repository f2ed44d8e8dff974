"""Heads as groups of channels, by hand."""

from fractions import Fraction as F
from typing import Any

import pytest

from tests.lessons.solving import answer_of
from vitruvius.core.errors import UserError
from vitruvius.lessons.grouped_heads import Question

answer = answer_of("grouped_heads")


def test_the_default_question() -> None:
    # Channels 1 and 2 are blurred with 1/4, 1/2, 1/4 around the ring; 3 and 4 come from the next token.
    found = answer()
    assert [row[0] for row in found["output"]] == [F(3, 4), F(3, 4), F(5, 4), F(5, 4)]  # of 1, 0, 2, 1
    assert [row[2:] for row in found["output"]] == [[1, 2], [0, 1], [1, 0], [2, 1]]


def test_heads_do_not_save_parameters_and_groups_do() -> None:
    # Width 6, kernel 3: attention 4 x 36 for any heads, convolution 3 x 36, in 3 groups a third of it.
    found = answer(x=[[1, 2, 3, 4, 5, 6]] * 3, patterns=[[0, 1, 0]] * 3)
    assert found["parameters"] == {
        "attention": 144,
        "attention_one_head": 144,
        "convolution": 108,
        "grouped_convolution": 36,
    }
    assert found["output"] == [[1, 2, 3, 4, 5, 6]] * 3


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"patterns": [[1], [1], [1]]}, "patterns has 3 heads: they need to divide the 4 columns of x"),
        ({"patterns": []}, "patterns is 0 x 0: it needs H x K with H from 1 to 64"),
        (
            {"patterns": [["1/2", "1/2"], [1, 0]]},
            "patterns have 2 weights: they need an odd number, at most 4",
        ),
        ({"patterns": [[1, 0, 1], [0, 0, 1]]}, "pattern 1 has sum 2 and smallest weight 0"),
        ({"patterns": [[-1, 1, 1], [0, 0, 1]]}, "pattern 1 has sum 1 and smallest weight -1"),
        ({"x": [[1, 2], [3]]}, "x has rows of 1 or 2 entries: it needs N x D, rows of one length"),
    ],
)
def test_a_bad_question_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(**fields)
    assert message in str(caught.value)
