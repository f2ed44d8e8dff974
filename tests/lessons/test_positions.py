"""Order with and without positions; the table and its rotation, from sines written out."""

from math import cos, exp, sin
from typing import Any

import pytest

from tests.lessons.solving import answer_of
from vitruvius.core.errors import UserError
from vitruvius.lessons.positions import Question

answer = answer_of("positions")


def test_the_table_of_width_four() -> None:
    expected = [[sin(p), cos(p), sin(p / 100), cos(p / 100)] for p in range(4)]
    assert answer()["table"] == [pytest.approx(row, rel=1e-12) for row in expected]


def test_a_move_by_two_turns_each_pair() -> None:
    rotation, table = answer(offset=2)["rotation"], answer()["table"]
    assert rotation[0] == pytest.approx([cos(2), sin(2), 0, 0])
    for place in (0, 1):
        moved = [sum(a * b for a, b in zip(row, table[place], strict=True)) for row in rotation]
        assert moved == pytest.approx(table[place + 2], rel=1e-12)


def test_order_does_not_matter_without_positions_and_does_with_them() -> None:
    found = answer()
    assert found["equivariant"] == {"without": True, "with": False}
    assert found["parameters"] == {"learned": 16, "sinusoidal": 0}


def test_two_equal_tokens_are_told_apart_by_their_positions_alone() -> None:
    # Two tokens 0: without positions nothing differs; with them the tokens are (0, 1) and (sin 1, cos 1),
    # and swapping equal tokens swaps nothing, so the outputs stay while the reordered ones swap.
    found = answer(x=[[0, 0], [0, 0]], order=[1, 0])
    a = (0.0, 1.0)
    b = (sin(1), cos(1))
    same, cross = (a[0] ** 2 + a[1] ** 2) / 2**0.5, (a[0] * b[0] + a[1] * b[1]) / 2**0.5
    w = exp(same) / (exp(same) + exp(cross))  # each token's weight on itself, equal for both
    first = [w * p + (1 - w) * q for p, q in zip(a, b, strict=True)]
    second = [w * q + (1 - w) * p for p, q in zip(a, b, strict=True)]
    assert found["gap"] == pytest.approx(
        max(abs(p - q) for p, q in zip(first, second, strict=True)), rel=1e-12
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"x": [[1, 2, 3], [4, 5, 6]]}, "x has 3 columns: it needs an even number"),
        ({"x": [[1, 2]]}, "x is 1 x 2: it needs N x D with N from 2 to 64"),
        ({"order": [0, 1]}, "order is [0, 1]: it needs each of 0 to 3 once"),
        ({"order": [0, 1, 2, 3]}, "not all in their own places"),
        ({"offset": 10**6}, "offset must be less than or equal to 1000"),
    ],
)
def test_a_bad_question_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(**fields)
    assert message in str(caught.value)
