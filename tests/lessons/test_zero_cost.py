"""grad_norm and SNIP of a small net against derivatives taken by hand and by differences."""

from math import exp, log, sqrt
from typing import Any

import pytest

from vitruvius.core.errors import UserError
from vitruvius.lessons import zero_cost
from vitruvius.lessons.zero_cost import Question


def solved(**fields: Any) -> dict[str, Any]:
    question = Question(**fields)
    *_, answer = zero_cost.solve(question)
    assert all(proof.passed for proof in zero_cost.prove(question, answer))  # type: ignore[arg-type]
    return answer.fields  # type: ignore[union-attr]


def test_one_unit_by_hand() -> None:
    # x = 2 -> z = 6 -> h = 6 -> logits (6, 0), class 1: p0 = e^6 / (e^6 + 1), L = -log(1 - p0) = log(1 + e^6).
    answer = solved(w1=[[3]], b1=[0], w2=[[1], [0]], b2=[0, 0], x=[[2]], y=[1])
    p = exp(6) / (exp(6) + 1)
    assert answer["loss"] == pytest.approx(log(1 + exp(6)), rel=1e-12)
    assert answer["gradients"]["w2"] == [[pytest.approx(6 * p)], [pytest.approx(-6 * p)]]
    assert answer["gradients"]["w1"] == [[pytest.approx(2 * p)]]
    assert answer["grad_norm"] == pytest.approx(p * sqrt(36 + 36 + 1 + 1 + 4 + 1), rel=1e-12)
    assert answer["snip"] == pytest.approx(p * (6 * 1 + 2 * 3), rel=1e-12)


def test_the_defaults_against_differences_of_the_loss() -> None:
    answer = solved()
    step = 1e-5
    losses = [solved(b1=[0, 0.5 + way * step, 0])["loss"] for way in (1, -1)]
    assert answer["gradients"]["b1"][1] == pytest.approx((losses[0] - losses[1]) / (2 * step), rel=1e-6)


def test_a_closed_unit_has_no_gradient() -> None:
    answer = solved(w1=[[1, 0], [-1, 0]], b1=[0, 0], w2=[[1, 1], [0, 2]], b2=[0, 0], x=[[1, 1]], y=[0])
    assert answer["gradients"]["w1"][1] == [0, 0]
    assert answer["gradients"]["b1"][1] == 0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"w1": [[1, 2]]}, "w1 has 1 row of 2 entries: it needs 3 x 2"),
        ({"w2": [[1], [2]]}, "w2 has 2 rows of 1 entry: it needs 2 x 3"),
        ({"x": [[1, 2], [3]]}, "x has 2 rows of 1 or 2 entries: it needs 2 x 2"),
        ({"y": [0]}, r"y is \[0\]: needs 2 classes from 0 to 1"),
        ({"y": [0, 2]}, "needs 2 classes from 0 to 1"),
        ({"x": []}, "0 samples"),
    ],
)
def test_shapes_that_do_not_fit_are_named(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Question(**fields)
