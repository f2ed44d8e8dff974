"""Four ways to hide a key, each against its own arithmetic."""

from math import exp, hypot, sqrt
from typing import Any

import pytest

from tests.lessons.solving import answer_of
from vitruvius.core.errors import UserError
from vitruvius.lessons.masking import Question

E4, E7, E8 = exp(4), exp(7), exp(8)

answer = answer_of("masking")


def test_the_right_way_is_attention_over_what_is_left() -> None:
    right = answer()["right"]
    total = E4 + E7
    assert right["weights"] == pytest.approx([E4 / total, E7 / total, 0], rel=1e-12)
    assert right["output"] == pytest.approx(
        [(5 * E4 + 3 * E7) / total, (4 * E4 + 5 * E7) / total, 5], rel=1e-12
    )
    assert right["leak"] == {"keys": 0, "values": 0}


def test_a_zero_score_keeps_weight() -> None:
    wrong = answer()["zero_score"]
    assert wrong["weights"][2] == pytest.approx(1 / (E4 + E7 + 1), rel=1e-12)
    assert wrong["leak"]["keys"] == 0
    assert wrong["leak"]["values"] == pytest.approx(sqrt(3) / (E4 + E7 + 1), rel=1e-12)


def test_a_deleted_weight_leaves_a_hole_and_a_leak_through_the_sum() -> None:
    wrong, total = answer()["zero_weight"], E4 + E7 + E8
    assert wrong["total"] == pytest.approx((E4 + E7) / total, rel=1e-12)
    output = [(5 * E4 + 3 * E7) / total, (4 * E4 + 5 * E7) / total, (5 * E4 + 5 * E7) / total]
    assert wrong["output"] == pytest.approx(output, rel=1e-12)
    # d output / d k3 = -w3 output q^T, of norm w3 |output| |q| with q = (2, -1, 3)
    assert wrong["leak"]["keys"] == pytest.approx(E8 / total * hypot(*output) * sqrt(14), rel=1e-12)
    assert wrong["leak"]["values"] == 0


def test_a_finite_penalty_leaks_both_ways_and_less_when_it_is_larger() -> None:
    leaks = [answer(penalty=penalty)["finite_penalty"]["leak"] for penalty in (-5, -20)]
    for part in ("keys", "values"):
        assert 0 < leaks[1][part] < 1e-6 < leaks[0][part]


def test_any_time_steps_may_be_hidden() -> None:
    right = answer(step=1, hidden=[1, 3])["right"]
    assert right["weights"] == [0, 1, 0]
    assert right["output"] == [3, 5, 5]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"step": 3}, "hidden has []: it needs at least one time step from 1 to 3, and not all of them"),
        ({"hidden": [1, 2, 3]}, "hidden has [1, 2, 3]"),
        ({"hidden": [4]}, "hidden has [4]"),
        ({"step": 0}, "step is 0: it needs 1 to 3"),
        ({"values": [[1], [2]]}, "values is 2 x 1: it needs M x E with M = 3 as in keys"),
        ({"queries": [[1, 2]]}, "queries is 1 x 2: it needs N x D with D = 3 as in keys"),
        ({"keys": []}, "keys is 0 x 0: it needs M x D with M from 1 to 64"),
    ],
)
def test_a_bad_question_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(**fields)
    assert message in str(caught.value)
