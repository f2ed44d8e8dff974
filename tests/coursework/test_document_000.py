"""The questions of document 000: each value derived here, independently of the lesson that answers it."""

from fractions import Fraction
from itertools import permutations
from math import dist, exp, hypot, log, sqrt
from typing import Any

import pytest

from vitruvius import lessons


def answer(name: str, **fields: Any) -> dict[str, Any]:
    lesson = lessons.get(name)
    *_, found = lesson.solve(lesson.Question(**fields))
    assert isinstance(found, lessons.Answer)
    return found.fields


def close(value: Any) -> Any:
    return pytest.approx(value, rel=1e-9)


def rows(*weights_and_values: tuple[float, list[int], list[int]]) -> list[Any]:
    """Each query's mixture of two values: the first with the given weight."""
    return [
        [close(w * a + (1 - w) * b) for a, b in zip(one, two, strict=True)]
        for w, one, two in weights_and_values
    ]


def logistic(score: float) -> float:
    return 1 / (1 + exp(-score))


# Question 1. With two keys the first weight is the logistic function of the difference of the two scores.
# Head 1: Q = [4 4 3; 3 5 2], K = [7 8 6; 6 8 5], V = [12 8 10; 11 9 13], so Q K^T = [78 71; 73 68].
# Head 2: Q = [3 6 4; 5 5 7], K = [2 3 3; 2 3 2], V = [9 6 9; 16 9 14], so Q K^T = [36 32; 46 39].
HEADS = [
    rows(
        (logistic(7 / sqrt(3)), [12, 8, 10], [11, 9, 13]), (logistic(5 / sqrt(3)), [12, 8, 10], [11, 9, 13])
    ),
    rows((logistic(4 / sqrt(3)), [9, 6, 9], [16, 9, 14]), (logistic(7 / sqrt(3)), [9, 6, 9], [16, 9, 14])),
]


def test_question_1_1_the_first_head() -> None:
    assert answer("multihead")["heads"][0] == HEADS[0]


def test_question_1_2_the_second_head() -> None:
    assert answer("multihead")["heads"][1] == HEADS[1]


def test_question_1_3_the_output_of_the_block() -> None:
    a, b = logistic(7 / sqrt(3)), logistic(4 / sqrt(3))
    first = [a * 12 + (1 - a) * 11, a * 8 + (1 - a) * 9, a * 10 + (1 - a) * 13]
    second = [b * 9 + (1 - b) * 16, b * 6 + (1 - b) * 9, b * 9 + (1 - b) * 14]
    h1, h2, h3, h4, h5, h6 = *first, *second
    # The columns of W^O, written out.
    expected = [
        h1 + h3 + 2 * h4 + 2 * h5,
        h2 + h3 + 2 * h4 + h5,
        h3 + 2 * h4,
        h1 + h3 + h4 + h5,
        2 * h2 + h3 + h4 + 2 * h5 + h6,
        2 * h3,
    ]
    assert answer("multihead")["output"][0] == [close(value) for value in expected]
    # Six digits, from the expressions above.
    assert answer("multihead")["output"][0] == pytest.approx(
        [53.8415, 43.6050, 29.3167, 37.9380, 57.7126, 20.1036], abs=1e-4
    )


def test_question_2_the_complexity_of_attention() -> None:
    # N = 2, D = 6: 4 * 2 * 36 + 2 * 4 * 6. Four projections of N D^2 and two products of all pairs, N^2 D
    # each.
    assert answer("attention_cost")["total"] == answer("attention_cost")["formula"] == 288 + 48
    # The assumption: heads times head width is D. With heads twice as wide every part doubles and the formula
    # fails.
    wider = answer("attention_cost", head_dim=6)
    assert wider["formula_holds"] is False
    assert wider["total"] == 2 * 336


def test_question_3_the_earth_movers_distance() -> None:
    # Every way to pair the eight single units of mass: the cheapest costs 55, so 55/8 per unit.
    supply = [(0, 0)] * 3 + [(4, 0)] * 3 + [(12, 9)] * 2
    demand = [(4, 3)] * 3 + [(12, 0)] * 3 + [(0, 9)] * 2
    least = min(sum(map(dist, supply, order)) for order in set(permutations(demand)))
    found = answer("earth_mover")
    assert found["work"] == 55 == pytest.approx(least)
    assert found["distance"] == Fraction(55, 8)
    assert all(mass == int(mass) for row in found["plan"] for mass in row)


def test_part_1_grad_norm_and_snip() -> None:
    # One unit, one input: z = w x = 3 * 2, logits (6, 0), class 1. dL/dlogits = (p, -p) with p = logistic(6).
    fields = {"w1": [[3]], "b1": [0], "w2": [[1], [0]], "b2": [0, 0], "x": [[2]], "y": [1]}
    found = answer("zero_cost", **fields)
    p = logistic(6)
    gradient = {"w1": 2 * p, "b1": p, "w2a": 6 * p, "w2b": -6 * p, "b2a": p, "b2b": -p}
    assert found["loss"] == close(log(1 + exp(6)))
    assert found["grad_norm"] == close(hypot(*gradient.values()))
    assert found["snip"] == close(abs(gradient["w1"] * 3) + abs(gradient["w2a"] * 1))


def test_part_1_how_well_a_proxy_ranks() -> None:
    # 4 networks, one pair the wrong way round: tau = (5 - 1) / 6, rho = 1 - 6 * 2 / (4 * 15).
    found = answer("rank_correlation", proxy=[1, 2, 3, 4], accuracy=[0.6, 0.8, 0.7, 0.9])
    assert (found["kendall"], found["spearman"]) == (Fraction(2, 3), Fraction(4, 5))
