"""Attention by hand against exponentials written out here."""

from fractions import Fraction
from math import exp, sqrt
from typing import Any

import pytest

from tests.lessons.solving import answer_of
from vitruvius.core.errors import UserError
from vitruvius.lessons import Step
from vitruvius.lessons.attention import Question, solve

answer = answer_of("attention")


def test_the_second_output_of_the_assignment() -> None:
    # k1.q2 = 4, k2.q2 = 6 + 1 = 7, k3.q2 = 2 + 6 = 8
    found, total = answer(), exp(4) + exp(7) + exp(8)
    assert found["scores"] == [4, 7, 8]
    assert found["weights"] == pytest.approx([exp(4) / total, exp(7) / total, exp(8) / total], rel=1e-12)
    expected = [
        (5 * exp(4) + 3 * exp(7) + 1 * exp(8)) / total,
        (4 * exp(4) + 5 * exp(7) + 2 * exp(8)) / total,
        (5 * exp(4) + 5 * exp(7) + 4 * exp(8)) / total,
    ]
    assert found["output"] == pytest.approx(expected, rel=1e-12)
    assert found["form"] == "(v1*exp(4) + v2*exp(7) + v3*exp(8))/(exp(4) + exp(7) + exp(8))"


def test_all_outputs_scaled_and_causal() -> None:
    found = answer(step=None, scaled=True, mask="causal")
    assert found["scores"][2] == pytest.approx([8 / sqrt(3), 6 / sqrt(3), 6 / sqrt(3)])
    assert found["weights"][0] == [1, 0, 0]
    assert found["output"][0] == [5, 4, 5]
    w = 1 / (1 + exp(3 / sqrt(3)))  # of the first key for the second query: scores 4 and 7
    assert found["output"][1] == pytest.approx([5 * w + 3 * (1 - w), 4 * w + 5 * (1 - w), 5])
    assert found["form"][0] == "v1"


def test_scores_stay_exact_where_the_root_is_whole() -> None:
    found = answer(keys=[[1, 0, 0, "1/3"]], values=[[7]], queries=[[3, 0, 0, 1]], step=1, scaled=True)
    assert found["scores"] == [Fraction(5, 3)]
    assert found["output"] == [7]


def test_a_matrix_hides_keys_one_by_one() -> None:
    found = answer(step=1, mask=[[False, True, False], [True] * 3, [True] * 3])
    assert found["weights"] == [0, 1, 0]
    assert found["output"] == [3, 5, 5]


def test_a_query_that_sees_nothing_gets_nothing() -> None:
    found = answer(step=1, mask=[[0, 0, 0], [1, 1, 1], [1, 1, 1]])
    assert found["weights"] == found["output"] == [0, 0, 0]
    assert found["form"] == "0"


def test_scores_of_a_thousand_do_not_overflow() -> None:
    assert answer(queries=[[1000, 0, 0]], step=1)["output"] == pytest.approx([3, 5, 5])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"queries": [[1, 2]], "step": 1}, "queries is 1 x 2: it needs N x D with D = 3 as in keys"),
        ({"values": [[1, 2]]}, "values is 1 x 2: it needs M x E with M = 3 as in keys"),
        (
            {"keys": [[1, 2, 3], [1, 2], [1, 2, 3]]},
            "keys has rows of 2 or 3 entries: it needs M x D, rows of one length",
        ),
        ({"keys": []}, "keys is 0 x 0: it needs M x D with M from 1 to 64"),
        ({"step": 4}, "step is 4: it needs 1 to 3, or null for all"),
        (
            {"mask": [[1, 1], [1, 1]]},
            "mask is 2 x 2: it needs N x M with N = 3 as in queries and M = 3 as in keys",
        ),
        ({"mask": "casual"}, "mask must be 'none' or 'causal'"),
    ],
)
def test_a_bad_question_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(**fields)
    assert message in str(caught.value)


def test_every_query_is_worked_out_on_the_board() -> None:
    asked = Question(step=None, scaled=True, mask="causal")
    steps = [step for step in solve(asked) if isinstance(step, Step)]
    products, scores, weights, output = (step.formula for step in steps)
    assert [products.count(f"q_{{{i}}}") for i in (1, 2, 3)] == [3, 3, 3]
    assert scores.count("\\\\") == 4  # two matrices of three rows
    assert weights.count("-\\infty") == 3
    assert all(f"a_{{{i}}} &=" in output for i in (1, 2, 3))
    assert [len(step.value) for step in steps] == [3, 3, 3, 3]
