"""What padding and batch mates do to a word, against sums done by hand."""

import math
import statistics
from fractions import Fraction
from typing import Any

import pytest

from tests.lessons.solving import answer_of
from vitruvius.core.errors import UserError
from vitruvius.lessons.batchnorm_text import Question

answer = answer_of("batchnorm_text")


def test_padding_counts_in_naive_statistics() -> None:
    first = [Fraction(x) for x in (2, 4, 3, 5, 6, 1, 9)]  # feature 1 of the seven words
    found = answer()
    assert found["padding"] == Fraction(5, 12)  # 3 sentences of 4 places hold 7 words
    assert found["masked"]["mean"][0] == statistics.mean(first)
    assert found["masked"]["variance"][0] == statistics.pvariance(first)
    assert found["naive"]["mean"][0] == statistics.mean([*first, *[Fraction(0)] * 5])
    assert found["naive"]["variance"][0] == statistics.pvariance([*first, *[Fraction(0)] * 5])
    assert found["alone"]["mean"][0] == Fraction(7, 2)


def test_the_word_depends_on_its_mates_under_batch_norm_only() -> None:
    here = answer()["first_word"]
    other = answer(sentences=[[[2, 1, 6], [4, 3, 2], [3, 5, 1], [5, 2, 4]], [[0, 0, 100]]])["first_word"]
    assert here["layer"] == other["layer"]
    assert here["alone"] == other["alone"]
    assert all(abs(a - b) > 0.1 for a, b in zip(here["masked"], other["masked"], strict=True))
    # The word (2, 1, 6) has mean 3 and variance 14/3.
    assert here["layer"][1] == pytest.approx(-2 / math.sqrt(14 / 3 + 1e-5), rel=1e-12)


def test_late_positions_are_filled_by_few_sentences() -> None:
    assert answer()["support"] == [3, 2, 1, 1]


def test_sentences_of_one_length_have_no_padding() -> None:
    found = answer(sentences=[[[1, 2], [3, 4]], [[5, 6], [7, 9]]], pad=100)
    assert found["padding"] == 0
    assert found["naive"] == found["masked"]


@pytest.mark.parametrize("sentences", [[[[1, 5]]], [[[1, 5]], [[3, 4], [0, 1]]]])
def test_batch_norm_of_one_row_leaves_nothing_of_it(sentences: Any) -> None:
    found = answer(sentences=sentences)
    assert found["alone"] == {"mean": [1, 5], "variance": [0, 0]}
    assert found["first_word"]["alone"] == [0, 0]
    assert found["first_word"]["layer"] == pytest.approx([-1, 1], abs=1e-5)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"sentences": []}, "needs at least 1 sentence"),
        ({"sentences": [[[1, 2], [3]], [[1, 2]]]}, "words of [1, 2] features"),
        ({"sentences": [[[1, 2], [3, 4]], []]}, "at least 1 word"),
        ({"sentences": [[[1, 2]] * 2000, [[1, 2]]]}, "at most 4096 values"),
        ({"eps": 0}, "eps is 0: needs a number above 0"),
    ],
)
def test_a_question_that_is_no_batch_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(**fields)
    assert message in str(caught.value)
