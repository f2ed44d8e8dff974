"""Attention by messages against loops over words."""

import math
from typing import Any

import pytest

from tests.lessons.solving import answer_of
from vitruvius.core.errors import UserError
from vitruvius.lessons.attention_as_graph import Question

H = [(1, -1), (-1, 1), (0, -1), (1, 0)]

answer = answer_of("attention_as_graph")


def attended(i: int, seen: list[int]) -> list[float]:
    """Word i of the default question: Q = I, K h = (h_1 + h_2, h_2), V h = 2 h."""
    powers = {j: math.exp(H[i][0] * (H[j][0] + H[j][1]) + H[i][1] * H[j][1]) for j in seen}
    return [sum(powers[j] * 2 * H[j][entry] for j in seen) / sum(powers.values()) for entry in (0, 1)]


def test_attention_is_a_sum_of_messages_over_all_pairs() -> None:
    found = answer()
    assert found["edges"] == 16
    assert found["scores"] == [[1, -1, 0, 1], [-1, 1, 0, -1], [1, -1, 1, 0], [0, 0, -1, 1]]
    assert found["output"] == [pytest.approx(attended(i, [0, 1, 2, 3]), rel=1e-12) for i in range(4)]


def test_a_causal_mask_removes_the_edges_from_later_words() -> None:
    found = answer(mask="causal")
    assert found["edges"] == 10
    assert found["output"] == [pytest.approx(attended(i, list(range(i + 1))), rel=1e-12) for i in range(4)]


def test_a_word_without_edges_hears_nothing() -> None:
    mask = [[False] * 4, [True, True, False, False], [False, False, True, False], [True] * 4]
    found = answer(mask=mask)
    assert found["output"][0] == [0, 0]
    assert found["output"][2] == pytest.approx(attended(2, [2]))
    assert found["weights"][1] == pytest.approx([1 / (1 + math.exp(2)), 1 / (1 + math.exp(-2)), 0, 0])


def test_scaling_divides_the_scores_by_the_root_of_the_width() -> None:
    found = answer(scaled=True)
    assert found["scores"][0] == pytest.approx([2**-0.5, -(2**-0.5), 0, 2**-0.5])


def test_sharp_scores_do_not_overflow() -> None:
    found = answer(w_q=[[1000, 0], [0, 1000]], states=[[2, 0], [0, 3]], w_k=[[1, 0], [0, 1]], w_v=[[1, 1]])
    assert found["output"] == [[2], [3]]


def test_the_cost_of_long_range() -> None:
    # 5 words, 2 neighbours on either side: 3 + 4 + 5 + 4 + 3 edges, 2 hops from end to end.
    found = answer(tokens=[5], window=2)["long_range"]
    assert found.pop("margin") == pytest.approx([math.log(4)])
    assert found == {"tokens": [5], "edges": [25], "window_edges": [19], "window_hops": [2]}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"states": [[1], [1, 2]]}, "states has rows of 1 or 2 entries: it needs N x D, rows of one length"),
        ({"w_q": [[1, 0, 0]]}, "w_q is 1 x 3: it needs A x D with D = 2 as in states"),
        ({"w_q": [[1, 0]]}, "w_k is 2 x 2: it needs A x D with A = 1 as in w_q"),
        ({"mask": [[True]]}, "mask is 1 x 1: it needs N x N with N = 4 as in states"),
        ({"tokens": []}, "tokens has 0 entries: it needs T from 1 to 8"),
        ({"window": 0}, "window must be greater than or equal to 1"),
    ],
)
def test_a_question_that_does_not_fit_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(**fields)
    assert message in str(caught.value)
