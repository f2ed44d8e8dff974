"""Multiply-adds of attention against numbers counted elsewhere."""

from typing import Any

import pytest

from tests.lessons.solving import answer_of
from vitruvius.core.errors import UserError
from vitruvius.lessons.attention_cost import Question

answer = answer_of("attention_cost")


def test_the_assignments_block() -> None:
    # 2 tokens of width 6, inner width 6: 2 * 6 * 6 = 72 per projection, 2 * 2 * 6 = 24 per product of pairs.
    parts = {"q": 72, "k": 72, "v": 72, "scores": 24, "weighted_sum": 24, "output": 72}
    assert answer().fields == {"parts": parts, "total": 336, "formula": 336, "formula_holds": True}


def test_vit_base_costs_what_is_published() -> None:
    # 197 tokens of width 768: 4 * 197 * 768^2 + 2 * 197^2 * 768.
    found = answer(tokens=197, width=768, heads=12)
    assert found["total"] == found["formula"] == 464_781_312 + 59_610_624


def test_the_formula_fails_when_the_heads_are_not_as_wide_as_a_token() -> None:
    # 17 tokens of width 64, 8 heads of 64: inner width 512 = 8 x 64, so 8 times the formula.
    found = answer(tokens=17, width=64, heads=8, head_dim=64)
    assert not found["formula_holds"]
    assert found["total"] == 8 * found["formula"] == 8 * (4 * 17 * 64**2 + 2 * 17**2 * 64)


def test_sizes_beyond_any_memory_are_counted() -> None:
    assert answer(tokens=2**20, width=4096, heads=32)["formula_holds"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"heads": 4}, "heads 4 does not divide width 6"),
        ({"tokens": 0}, "tokens must be greater than or equal to 1, got 0"),
        ({"width": "wide"}, "width needs a whole number, got 'wide'"),
    ],
)
def test_impossible_sizes_are_named(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Question(**fields)
