"""The original Transformer against the paper's counts and sums small enough for paper."""

from math import exp, sqrt
from typing import Any

import pytest

from tests.lessons.solving import answer_of, work
from vitruvius.core.errors import UserError
from vitruvius.lessons.transformer import Question

answer = answer_of("transformer")
NOTHING = [[0, 0], [0, 0]]
ONE = [[1, 0], [0, 1]]
PAPER: dict[str, Any] = {
    "source": [[1, 3], [2, 0]],
    "target": [[0, 2], [5, 1]],
    "w_q": ONE,
    "w_k": ONE,
    "w_v": NOTHING,
    "w_o": ONE,
    "w_1": NOTHING,
    "w_2": NOTHING,
    "embedding": [[1, 0], [0, 1]],
    "small_heads": 1,
}
"""Values and feed-forward maps are 0: every part is a norm of its input."""


def test_the_sizes_of_the_base_model() -> None:
    found = answer()
    attention, feed = 4 * (512 * 512 + 512), 512 * 2048 + 2048 + 2048 * 512 + 512
    assert found["encoder_layer"] == attention + feed + 4 * 512 == 3_152_384
    assert found["decoder_layer"] == 2 * attention + feed + 6 * 512 == 4_204_032
    assert found["parameters"] == 6 * (3_152_384 + 4_204_032) + 37_000 * 512


def test_a_recurrent_net_against_attention() -> None:
    found = answer(length=10, width=4, heads=2, mlp=8, gain="1/2")
    assert found["state"] == {"attention": 80, "recurrent": 4}
    assert found["path"] == {"attention": 1, "recurrent": 9}
    assert (found["attention"], found["recurrent"]) == (2 * 100 * 4, 2 * 10 * 16)
    assert found["surviving"] == 1 / 512


@pytest.mark.parametrize(
    ("length", "said"),
    [(3, "self-attention is cheaper"), (4, "neither is cheaper"), (9, "the recurrent net is cheaper")],
)
def test_attention_is_cheaper_while_the_sentence_is_shorter_than_the_width(length: int, said: str) -> None:
    steps, _ = work("transformer", length=length, width=4, heads=2, mlp=8)
    assert said in steps[3].says


def test_a_miniature_on_paper() -> None:
    found = answer(**PAPER)
    # Scores of the source: 10, 2 and 2, 4, over the root of 2.
    assert found["encoder_weights"][0][0][1] == pytest.approx(1 / (1 + exp(8 / sqrt(2))), rel=1e-9)
    assert found["memory"] == [pytest.approx([-1, 1], abs=1e-4), pytest.approx([1, -1], abs=1e-4)]
    assert found["masked_weights"][0][0] == [1, 0]  # the first token sees itself alone
    assert found["output"] == [pytest.approx([-1, 1], abs=1e-4), pytest.approx([1, -1], abs=1e-4)]
    near = 1 / (1 + exp(-2 * sqrt(2)))  # scores 2 and -2 over the root of 2
    assert found["cross_weights"][0] == [
        pytest.approx([near, 1 - near], abs=1e-4),
        pytest.approx([1 - near, near], abs=1e-4),
    ]
    word = 1 / (1 + exp(2))
    assert found["probabilities"][0] == pytest.approx([word, 1 - word], abs=1e-4)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"heads": 7}, "heads 7 does not divide width 512"),
        ({"small_heads": 3}, "small_heads 3 does not divide the miniature's width 4"),
        ({"target": [[1, 2]]}, "it needs M x D with"),
        ({"gain": "1/10", "length": 4000}, "leaves less than 1e-250"),
        ({"length": 1}, "length"),
    ],
)
def test_a_bad_question_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(**fields)
    assert message in str(caught.value)
