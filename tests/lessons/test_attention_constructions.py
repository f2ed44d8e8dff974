"""Attention that copies, reorders, maps and convolves, against the operations written out."""

from fractions import Fraction
from math import exp
from typing import Any

import pytest

from tests.lessons.solving import answer_of
from vitruvius.core.errors import UserError
from vitruvius.lessons.attention_constructions import Question

X = [[1, 2], [3, 1], [0, 4], [2, 2]]

answer = answer_of("attention_constructions")


def test_a_convolution_by_hand() -> None:
    # Taps: left neighbour as it is, itself with the first entry doubled, right neighbour swapped.
    expected = [
        [X[i - 1][0] + 2 * X[i][0] + X[(i + 1) % 4][1], X[i - 1][1] + X[i][1] + X[(i + 1) % 4][0]]
        for i in range(4)
    ]
    found = answer()
    assert found["target"] == expected == [[5, 7], [11, 3], [5, 7], [6, 7]]
    assert len(found["w_q"]) == len(found["w_k"]) == len(found["w_v"]) == 3
    assert found["w_o"] == [[1, 0], [0, 1], [2, 0], [0, 1], [0, 1], [1, 0]]


def test_an_identity_and_its_error() -> None:
    # The score wanted leads by 16 / sqrt(4) = 8: the others keep 1 / (e^8 + 3) each.
    found = answer(kind="identity")
    other = 1 / (exp(8) + 3)
    assert found["target"] == X
    assert "w_o" not in found.fields
    assert found["output"][2][0] == pytest.approx(other * (1 + 3 + 2), rel=1e-12)
    assert found["error"] == pytest.approx(other * ((4 - 2) + (4 - 1) + (4 - 2)), rel=1e-12)


def test_a_permutation_given_and_by_default() -> None:
    assert answer(kind="permutation", permutation=[2, 0, 1, 3])["target"] == [X[2], X[0], X[1], X[3]]
    found = answer(kind="permutation")
    assert found["target"] == [X[1], X[2], X[3], X[0]]
    # Row 2 + i of the query map (after two rows for the content) asks for the place of token i + 1.
    assert found["w_q"][0][2:] == [[0, 16, 0, 0], [0, 0, 16, 0], [0, 0, 0, 16], [16, 0, 0, 0]]


def test_a_linear_layer_for_every_token() -> None:
    found = answer(kind="pointwise", weight=[[1, 2, 0], [0, 1, "1/2"]])
    assert found["target"] == [[a, 2 * a + b, Fraction(b, 2)] for a, b in X]


def test_the_error_falls_exponentially_with_the_sharpness() -> None:
    errors = [answer(kind="identity", sharpness=sharpness)["error"] for sharpness in (20, 22, 24)]
    assert errors[0] / errors[1] == pytest.approx(exp(1), rel=1e-3)  # 2 / sqrt(4) more
    assert errors[1] / errors[2] == pytest.approx(exp(1), rel=1e-3)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"x": [[1], [2, 3]]}, "x has rows of 1 or 2 entries: it needs N x E, rows of one length"),
        ({"x": [[1]]}, "x is 1 x 1: it needs N x E with N from 2 to 32"),
        ({"kind": "permutation", "permutation": [0, 0, 1, 2]}, "permutation is [0, 0, 1, 2]"),
        ({"kind": "pointwise", "weight": [[1]]}, "weight is 1 x 1: it needs E x F with E = 2 as in x"),
        ({"taps": [[[1, 0], [0, 1]]] * 2}, "taps has 2 maps: it needs an odd number, at most 4"),
        ({"taps": []}, "taps has 0 maps"),
        ({"kind": "pooling"}, "kind must be"),
        ({"sharpness": -1}, "sharpness must be greater than or equal to 0"),
    ],
)
def test_a_bad_question_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(**fields)
    assert message in str(caught.value)
