"""An encoder layer against sums small enough for paper."""

from math import erf, exp, sqrt
from typing import Any

import pytest

from tests.lessons.solving import answer_of
from vitruvius.core.errors import UserError
from vitruvius.lessons.encoder_layer import Question

ONE_HEAD = {
    "x": [[1, 3], [2, 0]],
    "w_q": [[[1], [0]]],
    "w_k": [[[0], [1]]],
    "w_v": [[[1], [1]]],
    "w_o": [[1, 2]],
    "w_1": [[1], [0]],
    "w_2": [[0, 5]],
    "eps": "1e-12",
}
"""Two tokens of width 2, whose norms are (-1, 1) and (1, -1) up to eps."""

answer = answer_of("encoder_layer")


def gelu(x: float) -> float:
    return x * (1 + erf(x / sqrt(2))) / 2


def test_a_layer_on_paper() -> None:
    # Queries are -1 and 1, keys 1 and -1, all values (-1 + 1) = 0: attention adds nothing but b_o.
    found = answer(**ONE_HEAD, b_o=[1, 0])
    assert found["after_attention"] == [pytest.approx([2, 3]), pytest.approx([3, 0])]
    # Norms are (-1, 1) and (1, -1) again; the hidden unit reads the first entry, 5 GELU go to the second.
    assert found["output"] == [
        pytest.approx([2, 3 + 5 * gelu(-1)], rel=1e-9),
        pytest.approx([3, 5 * gelu(1)], rel=1e-9),
    ]


def test_attention_weighs_and_relu_cuts() -> None:
    # Values are now the first entries, -1 and 1; token 1 (query -1) prefers key -1 by exp(2), token 2 key 1.
    found = answer(**{**ONE_HEAD, "w_v": [[[1], [0]]], "activation": "relu"})
    weight = 1 / (1 + exp(2))
    mixed = -weight + (1 - weight)
    first, second = found["after_attention"]
    assert first == pytest.approx([1 + mixed, 3 + 2 * mixed], rel=1e-9)
    assert second == pytest.approx([2 - mixed, -2 * mixed], rel=1e-9)
    assert found["output"][0] == pytest.approx(first)  # its hidden unit is -1
    assert found["output"][1] == pytest.approx([second[0], second[1] + 5], rel=1e-9)


def test_zero_maps_leave_the_tokens_alone() -> None:
    found = answer(w_o=[[0] * 4] * 4, w_2=[[0] * 4] * 3)
    assert found["output"] == found["after_attention"] == [[1, 2, 0, 1], [0, 1, 3, 0], [2, 0, 1, 1]]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"w_o": [[1, 0], [0, 1]]},
            "w_o is 2 x 2: it needs H*E x D with H*E = 4 as in w_q and D = 4 as in x",
        ),
        ({"w_k": [[[1, 0]] * 4]}, "w_k is 1 x 4 x 2: it needs H x D x E with H = 2 as in w_q"),
        ({"b_1": [1, 2]}, "b_1 has 2 entries: it needs M = 3 as in w_1"),
        ({"x": [[1, 2], [3]]}, "x has rows of 1 or 2 entries: it needs N x D, rows of one length"),
        ({"w_q": []}, "w_q is 0 x 0 x 0: it needs H x D x E with H from 1 to 64"),
        ({"eps": 0}, "eps must be greater than 0"),
    ],
)
def test_a_bad_question_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(**fields)
    assert message in str(caught.value)
