"""grad_norm and SNIP of a small net against derivatives taken by hand and by differences."""

from math import exp, log, sqrt
from typing import Any

import pytest

from tests.lessons.solving import answer_of
from vitruvius.core.errors import UserError
from vitruvius.lessons.zero_cost import Question

answer = answer_of("zero_cost")


def test_one_unit_by_hand() -> None:
    # x = 2 -> z = 6 -> h = 6 -> logits (6, 0), class 1: p0 = e^6 / (e^6 + 1), L = -log(1 - p0) = log(1 + e^6)
    found = answer(w1=[[3]], b1=[0], w2=[[1], [0]], b2=[0, 0], x=[[2]], y=[1])
    p = exp(6) / (exp(6) + 1)
    assert found["loss"] == pytest.approx(log(1 + exp(6)), rel=1e-12)
    assert found["gradients"]["w2"] == [[pytest.approx(6 * p)], [pytest.approx(-6 * p)]]
    assert found["gradients"]["w1"] == [[pytest.approx(2 * p)]]
    assert found["grad_norm"] == pytest.approx(p * sqrt(36 + 36 + 1 + 1 + 4 + 1), rel=1e-12)
    assert found["snip"] == pytest.approx(p * (6 * 1 + 2 * 3), rel=1e-12)


def test_the_defaults_against_differences_of_the_loss() -> None:
    found = answer()
    step = 1e-5
    losses = [answer(b1=[0, 0.5 + way * step, 0])["loss"] for way in (1, -1)]
    assert found["gradients"]["b1"][1] == pytest.approx((losses[0] - losses[1]) / (2 * step), rel=1e-6)


def test_a_closed_unit_has_no_gradient() -> None:
    found = answer(w1=[[1, 0], [-1, 0]], b1=[0, 0], w2=[[1, 1], [0, 2]], b2=[0, 0], x=[[1, 1]], y=[0])
    assert found["gradients"]["w1"][1] == [0, 0]
    assert found["gradients"]["b1"][1] == 0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"w1": [[1, 2]]}, "b1 has 3 entries: it needs H = 1 as in w1"),
        ({"w2": [[1], [2]]}, "w2 is 2 x 1: it needs C x H with H = 3 as in w1"),
        ({"x": [[1, 2], [3]]}, "x has rows of 1 or 2 entries: it needs B x I, rows of one length"),
        ({"y": [0]}, "y has 1 entry: it needs B = 2 as in x"),
        ({"y": [0, 2]}, "needs 2 classes from 0 to 1"),
        ({"x": []}, "x is 0 x 0: it needs B x I with B from 1 to 64"),
    ],
)
def test_shapes_that_do_not_fit_are_named(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Question(**fields)
