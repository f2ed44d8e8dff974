"""Rank correlations against values derived from the definitions."""

from fractions import Fraction
from math import sqrt
from typing import Any

import pytest

from tests.lessons.solving import answer_of
from vitruvius.core.errors import UserError
from vitruvius.lessons.rank_correlation import Question

answer = answer_of("rank_correlation")


def test_the_defaults_share_mid_ranks() -> None:
    found = answer()
    assert found["ranks"]["proxy"] == [4, Fraction(3, 2), 5, Fraction(3, 2), 6, 3]
    assert found["ranks"]["accuracy"] == [4, 2, 6, 3, 5, 1]
    # Of 15 pairs one is tied in the proxy; (1,6) ... counted by hand: 11 agree, 3 disagree.
    assert found["kendall"] == pytest.approx((11 - 3) / sqrt(15 * 14), rel=1e-12)
    # Distances of the ranks from 7/2: products sum to 13, squares to 17 (a tie takes 1/2 off 35/2) and 35/2.
    assert found["spearman"] == pytest.approx(13 / sqrt(17 * 17.5), rel=1e-12)


def test_without_ties_both_are_exact() -> None:
    # One swap of neighbours among 4: sum of d^2 is 2, so 1 - 12 / 60; 5 pairs agree and 1 does not.
    found = answer(proxy=[1, 2, 3, 4], accuracy=[1, 3, 2, 4])
    assert (found["spearman"], found["kendall"]) == (Fraction(4, 5), Fraction(2, 3))


def test_the_reverse_ranking_has_minus_one() -> None:
    found = answer(proxy=[1, 2, 3], accuracy=[9, 8, 7])
    assert (found["spearman"], found["kendall"]) == (-1, -1)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"proxy": [1, 2]}, "accuracy has 6 entries: it needs N = 2 as in proxy"),
        ({"proxy": [1], "accuracy": [1]}, "proxy has 1 entry: it needs N from 2 to 500"),
        ({"proxy": [1] * 6}, "proxy has the same value everywhere"),
    ],
)
def test_lists_that_cannot_be_ranked_are_named(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Question(**fields)
