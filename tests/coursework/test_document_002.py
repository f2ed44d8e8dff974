"""Document 002, question by question: the value derived here, and what the lesson answers or says."""

import math
from fractions import Fraction
from math import exp, log
from typing import Any

import numpy as np
import pytest

from vitruvius import lessons
from vitruvius.lessons import Answer, Step


def worked(name: str, **fields: Any) -> tuple[list[Step], dict[str, Any]]:
    lesson = lessons.get(name)
    *steps, found = lesson.solve(lesson.Question(**fields))
    assert isinstance(found, Answer)
    return [step for step in steps if isinstance(step, Step)], found.fields


def answer(name: str, **fields: Any) -> dict[str, Any]:
    return worked(name, **fields)[1]


def close(values: Any) -> Any:
    return pytest.approx(values, rel=1e-9)


def softargmax(scores: Any, beta: float) -> Any:
    power = np.exp(beta * np.array(scores, float))
    return power / power.sum(-1, keepdims=True)


# The questions bring no numbers: queries, keys and values of the lessons. Rows are the document's columns.
KEYS = np.array([[2, 0, 0, 0], [0, 2, 0, 0], [1, 1, 1, 1]])
VALUES = np.array([[1, 0], [0, 1], [2, 2]])
QUERIES = np.array([[2, 0, 1, 0], [0, 3, 0, 1]])


# 1.1(a): H = V softargmax_beta(K^T Q), one column of weights per query.
def test_1_1_a_the_output_of_attention() -> None:
    steps, found = worked("temperature")
    for beta, output in zip((0, 0.5, 1, 2, 4), found["outputs"], strict=True):
        expected = softargmax(QUERIES @ KEYS.T, beta) @ VALUES
        assert output == [close(row) for row in expected.tolist()]
    assert r"V \operatorname{softargmax}_\beta(K^T Q)" in steps[0].formula


# 1.1(b): the entropy of the weights falls with beta, from log 3; the convenient beta is 1/sqrt(d), here
# 1/sqrt(4).
def test_1_1_b_the_scale() -> None:
    found = answer("temperature")
    weights = softargmax(QUERIES @ KEYS.T, 2)
    assert found["entropies"][3] == close((-weights * np.log(weights)).sum(1).tolist())
    assert found["entropies"][0] == close([log(3), log(3)])
    falling = [entropies[0] for entropies in found["entropies"]]
    assert falling == sorted(falling, reverse=True)
    assert found["convenient"] == Fraction(1, 2)


# 1.1(c): beta to infinity leaves the value of the best key (scores 4, 0, 3 and 0, 6, 4); all but 1/100 of the
# weight is there when sum_j exp(-beta gap_j) = 1/99, which is checked by putting the answer in.
def test_1_1_c_preserving_a_value() -> None:
    found = answer("temperature")
    assert found["limits"]["infinity"] == [[1, 0], [0, 1]]
    for beta, gaps in zip(found["preserving"], ([1, 4], [2, 6]), strict=True):
        assert sum(exp(-beta * gap) for gap in gaps) == close(1 / 99)
    assert found["preserves"] == "hard attention, self or cross"


# 1.1(d): beta 0 gives every query the mean of the values, ((1, 0) + (0, 1) + (2, 2)) / 3.
def test_1_1_d_diffusing() -> None:
    steps, found = worked("temperature")
    assert found["limits"]["zero"] == [[1, 1], [1, 1]]
    assert found["diffuses"] == "soft attention, self or cross"
    assert "fully connected layer" in steps[-1].says


# 1.1(e): h' = h + beta w (v - h) q.epsilon to first order, so the covariance is (sigma beta w |q|)^2 (v -
# h)(v - h)^T.
def test_1_1_e_a_small_perturbation_of_a_key() -> None:
    found = answer("key_perturbation", sigma="1/100")
    for i, q in enumerate(([1, 2, 0, 0], [2, -1, 1, 0])):
        weights = softargmax(KEYS @ np.array(q), 0.5)
        h = weights @ VALUES
        way = VALUES[1] - h
        assert found["output_before"][i] == close(h.tolist())
        factor = (0.01 * 0.5 * weights[1] * math.hypot(*q)) ** 2
        assert found["covariance"][i] == [close(row) for row in (factor * np.outer(way, way)).tolist()]
        assert found["output_after"][i] == pytest.approx(
            h.tolist(), rel=1e-4
        )  # the mean moves to second order only


# 1.1(f): the score of the stretched key is multiplied; query 1 (product 4) turns to it, query 2 (product -2)
# away.
def test_1_1_f_an_elongated_key() -> None:
    found = answer("key_perturbation", stretch=3)
    longer = KEYS * np.array([[1], [3], [1]])
    expected = softargmax(np.array([[1, 2, 0, 0], [2, -1, 1, 0]]) @ longer.T, 0.5) @ VALUES
    assert found["output_after"] == [close(row) for row in expected.tolist()]
    assert found["helps"] == [True, False]


# 1.2(a, b): H = [H_1; ...] W_o; a head mixes its own channels, as Conv1d with groups does. Width 4, kernel 3,
# 2 groups: 3 * 16 weights against 3 * 16 / 2, while heads change nothing about the 4 * 16 of attention.
def test_1_2_heads_and_groups() -> None:
    steps, found = worked("grouped_heads")
    assert r"H = [H_1; \dots; H_h]\, W_o" in steps[0].formula
    assert found["parameters"] == {
        "attention": 64,
        "attention_one_head": 64,
        "convolution": 48,
        "grouped_convolution": 24,
    }
    x = np.array([[1, 0, 2, 1], [0, 3, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]])
    blurred = (np.roll(x, 1, 0) + 2 * x + np.roll(x, -1, 0)) / 4
    assert np.array(found["output"], float)[:, :2].tolist() == blurred[:, :2].tolist()
    assert np.array(found["output"], float)[:, 2:].tolist() == np.roll(x, -1, 0)[:, 2:].tolist()


# 1.3(a): Q = C W_q, K = C W_k, V = C W_v per head (rows as tokens), the heads joined by W_o: put together
# here.
def test_1_3_a_self_attention_of_an_input() -> None:
    found = answer("attention_constructions")
    tokens = np.concatenate([[[1, 2], [3, 1], [0, 4], [2, 2]], np.eye(4)], axis=1)
    heads = []
    for w_q, w_k, w_v in zip(found["w_q"], found["w_k"], found["w_v"], strict=True):
        q, k, v = (tokens @ np.array(w, float) for w in (w_q, w_k, w_v))
        heads.append(softargmax(q @ k.T, 4**-0.5) @ v)
    output = np.concatenate(heads, axis=1) @ np.array(found["w_o"], float)
    assert found["output"] == [close(row) for row in output.tolist()]


# 1.3(b): sums over tokens do not know the order; with sines and cosines added they do.
def test_1_3_b_when_positions_are_needed() -> None:
    found = answer("positions")
    assert found["equivariant"] == {"without": True, "with": False}
    x = np.array([[1, 0, 2, 1], [0, 1, 1, 0], [2, 1, 0, 0], [1, 1, 0, 2]])
    table = np.array([[math.sin(p), math.cos(p), math.sin(p / 100), math.cos(p / 100)] for p in range(4)])
    there, back = x + table, x[::-1] + table
    apart = softargmax(back @ back.T, 0.5) @ back - (softargmax(there @ there.T, 0.5) @ there)[::-1]
    assert found["gap"] == close(float(np.abs(apart).max()))
    assert found["table"] == [close(row) for row in table.tolist()]


# 1.3(c, d, e): what comes out is the input itself, the input reordered, each token times the same matrix, and
# the sum over three neighbours each times its own matrix; the error is what softmax leaves to other tokens, 3
# / (e^8 + 3) of the weight at sharpness 16 with 4 places.
@pytest.mark.parametrize("kind", ["identity", "permutation", "pointwise", "convolution"])
def test_1_3_cde_attention_as_other_layers(kind: str) -> None:
    x = np.array([[1, 2], [3, 1], [0, 4], [2, 2]])
    taps = [np.eye(2), np.diag([2, 1]), np.array([[0, 1], [1, 0]])]
    expected = {
        "identity": x,
        "permutation": np.roll(x, -1, 0),
        "pointwise": x @ np.array([[1, 2], [0, 1]]),
        "convolution": sum(np.roll(x, 1 - j, 0) @ tap for j, tap in enumerate(taps)),
    }[kind]
    found = answer("attention_constructions", kind=kind)
    assert np.array(found["target"], float).tolist() == np.asarray(expected, float).tolist()
    assert 0 < found["error"] < 12 * 3 / (exp(8) + 3)
    assert answer("attention_constructions", kind=kind, sharpness=60)["error"] < 1e-11


# 1.4: the paper's base model: 512 wide, 8 heads, 2048 hidden units, 6 + 6 layers; 50 tokens.
@pytest.mark.parametrize(
    ("words", "number"),
    [
        ("state of fixed size", f"{2 * 50 * 512} numbers"),  # (a): keys and values of every token
        ("From the first token to the last", "49 steps"),
        ("Along that path", f"{0.9**49:.3g} of it is left"),
        ("Attention is cheaper while n < d", "50 against 512"),
        ("In its self-attention", "2 heads of 2 columns"),  # (b), (c)
        ("The feed-forward part: two maps", "2048 units for width 512"),  # (d)
        ("layer normalisation", "4 entries get mean 0 and variance 1"),  # (e)
        ("masked: scores", "token 1 sees itself alone"),
        ("Cross-attention joins", "2 x 3"),
    ],
)
def test_1_4_the_original_transformer(words: str, number: str) -> None:
    steps, _ = worked("transformer")
    said = [step.says for step in steps if words in step.says]
    assert len(said) == 1
    assert number in said[0]


# 1.4, 1.5(a-d): ViT-B/16: 196 patches + 1 = 197 tokens of width 768, 12 layers, 12 heads of 64, MLP
# 3072.
@pytest.mark.parametrize(
    ("words", "number"),
    [
        ("replaces recurrence", f"{197**2} pairs"),  # 1.4(a)
        ("Self-attention", "197 weights"),  # 1.4(b)
        ("12 heads of 64", f"{4 * 768 * 768} weights"),  # 1.4(c)
        ("The feed-forward part works", "67% of a layer's weights"),  # 1.4(d): 2*768*3072 against 4*768*768
        ("Layer normalisation", "There are 25"),  # 1.4(e): two in each of 12 layers and one at the end
        ("One convolution is left", "kernel 16, stride 16 and 768 filters"),  # 1.5(a)
        ("Against the original Transformer", "12 layers with 1 attention each"),  # 1.5(b)
        ("Positions tell it: a learned table", f"197 x 768 = {197 * 768}"),  # 1.5(c)
        ("class token", "768 entries to 1000 scores"),  # 1.5(d)
    ],
)
def test_1_4_and_1_5_the_parts_of_a_transformer(words: str, number: str) -> None:
    steps, _ = worked("anatomy")
    said = [step.says for step in steps if words in step.says]
    assert len(said) == 1
    assert number in said[0]


# 1.5: the parts add up to the published 86,567,656 parameters; the patch map is 16*16*3*768 + 768 of them.
def test_1_5_the_whole_network() -> None:
    found = answer("anatomy")
    assert found["parameters"] == 86_567_656
    assert found["layers"][0] == {
        "name": "patches",
        "shape": [196, 768],
        "parameters": 768 * 768 + 768,
        "macs": 196 * 768 * 768,
    }
