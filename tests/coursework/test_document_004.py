"""Document 004, question by question: the value derived here, and the lesson's answer."""

import itertools
import math
import statistics
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from vitruvius import lessons
from vitruvius.lessons import Answer, Step


def worked(name: str, **fields: Any) -> tuple[list[Step], Answer]:
    lesson = lessons.get(name)
    *steps, answer = lesson.solve(lesson.Question(**fields))
    assert isinstance(answer, Answer)
    return [step for step in steps if isinstance(step, Step)], answer


# 1: h_t = s(W x_t + U h_{t-1}), y_t = V h_t, L = sum |z_t - y_t|^2, on three steps of a net with two units.
W, U, V = np.array([[1, -1], [0.5, 2]]), np.array([[1, 2], [-1, 0.5]]), np.array([[2.0, -1.0]])
INPUTS, TARGETS = np.array([[1, 0], [0, 1], [1, 1]]), np.array([[1], [0], [1]])
REST = np.zeros((3, 2))


def rnn_loss(w: Any = W, u: Any = U, nudge: Any = REST) -> float:
    """The loss with something added to each state, by the definition."""
    state, total = np.zeros(2), 0.0
    for x, z, extra in zip(INPUTS, TARGETS, nudge, strict=True):
        state = 1 / (1 + np.exp(-(w @ x + u @ state))) + extra
        total += float(((z - V @ state) ** 2).sum())
    return total


def slope(name: str, at: Any, place: tuple[int, ...]) -> float:
    """A central difference of fourth order."""

    def moved(distance: float) -> float:
        changed = np.array(at, dtype=float)
        changed[place] += distance
        return rnn_loss(**{name: changed})

    h = 1e-3
    return (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h)


def test_1_1_the_graph_is_unrolled_over_three_steps_and_labelled() -> None:
    figure = worked("bptt")[0][0].figure
    assert figure is not None
    assert figure.model_dump()["labels"] == ("U", "W", "V") * 3


@pytest.mark.parametrize(
    ("field", "name", "at"), [("grad_w", "w", W), ("grad_u", "u", U), ("grad_hidden", "nudge", REST)]
)
def test_1_2_to_1_4_the_gradients_are_those_of_the_loss(field: str, name: str, at: Any) -> None:
    found = np.array(worked("bptt")[1][field])
    expected = np.array([[slope(name, at, (i, j)) for j in range(2)] for i in range(len(found))])
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_1_3_the_slope_is_the_logistic_one() -> None:
    # d h_3 / d h_2 = diag(h (1 - h)) U: the gradient at step 2 minus its local part is U^T diag(h (1 - h))
    # g_3.
    _, found = worked("bptt")
    h, g = np.array(found["hidden"]), np.array(found["grad_hidden"])
    local = -2 * (TARGETS[1] - V @ h[1]) @ V
    np.testing.assert_allclose(g[1] - local, U.T @ (h[2] * (1 - h[2]) * g[2]), atol=1e-12)


def test_1_5_the_truncated_gradient_is_biased() -> None:
    # h_t = u h_{t-1} + x_t with u = 1/2 over 6 signs, target x_1: mean of d (x_1 - h_6)^2 / du over all 64
    # sequences, with the last k uses of u counted.
    def mean_gradient(k: int) -> Fraction:
        total = Fraction(0)
        for signs in itertools.product((-1, 1), repeat=6):
            states = [Fraction(0)]
            for sign in signs:
                states.append(states[-1] / 2 + sign)
            through_u = sum(states[5 - j] / 2**j for j in range(k))
            total += -2 * (signs[0] - states[6]) * through_u
        return total / 64

    _, found = worked("truncated_bptt")
    assert found["scalar"]["full"] == mean_gradient(6)
    assert found["scalar"]["truncated"] == mean_gradient(2)
    assert found["scalar"]["bias"] == mean_gradient(2) - mean_gradient(6) != 0


def test_1_5_a_lag_beyond_the_window_is_not_learnt() -> None:
    losses = worked("truncated_bptt")[0][-1].value
    assert losses["full"] < 0.05
    assert losses["truncated"] > 0.2  # a constant 1/2 costs 1/4


def test_2_1_the_sum_runs_over_the_neighbours() -> None:
    assert r"\sum_{j : v_j \in \mathcal{N}(v_i)} f_{ji}(h_j^t)" in worked("message_passing")[0][0].formula


def test_2_2_the_updated_vertex() -> None:
    # 2 (3/5 (-1, 1) + 1/5 (0, -1) + 1/5 (1, 0)) = (-4/5, 4/5); W h^T = 0 is added to max(., 0) = (0, 4/5).
    _, found = worked("message_passing")
    assert found["aggregate"][0] == [Fraction(-4, 5), Fraction(4, 5)]
    assert found["states"][0] == [0, Fraction(4, 5)]


def test_2_3_a_sentence_of_four_words_has_twelve_edges() -> None:
    _, found = worked("sentence_graph", words="I eat red apples")
    assert found["edges"] == len(list(itertools.permutations("abcd", 2))) == 12


def test_2_4_attention_is_a_sum_of_messages_divided_by_their_weights() -> None:
    states = [(1, -1), (-1, 1), (0, -1), (1, 0)]
    _, found = worked("attention_as_graph", w_q=[[1, 0], [0, 1]], w_k=[[1, 0], [0, 1]], w_v=[[1, 0], [0, 1]])
    for i, query in enumerate(states):
        weights = [math.exp(query[0] * key[0] + query[1] * key[1]) for key in states]
        for entry in (0, 1):
            value = sum(w * key[entry] for w, key in zip(weights, states, strict=True)) / sum(weights)
            assert found["output"][i][entry] == pytest.approx(value, rel=1e-12)


def test_2_5_the_number_of_edges_grows_with_the_square() -> None:
    _, found = worked("attention_as_graph")
    assert found["long_range"]["tokens"] == [4, 64, 1_024, 16_384]
    assert found["long_range"]["edges"] == [16, 4_096, 1_048_576, 268_435_456]


# 3.1: the printed tensor of 4 samples, 2 channels, 3 features.
TENSOR = [[[4, 3, 2], [1, 4, 3]], [[3, 4, 1], [4, 2, 2]], [[3, 2, 3], [4, 1, 2]], [[1, 1, 3], [4, 1, 2]]]


def mean_and_variance(values: list[int]) -> tuple[Fraction, Fraction]:
    exact = [Fraction(value) for value in values]
    return statistics.mean(exact), statistics.pvariance(exact)


def test_3_1_batch_layer_and_instance_statistics() -> None:
    _, found = worked("normalisation")
    batch = [mean_and_variance([x for sample in TENSOR for x in sample[channel]]) for channel in range(2)]
    layer = [mean_and_variance([x for row in sample for x in row]) for sample in TENSOR]
    instance = [[mean_and_variance(row) for row in sample] for sample in TENSOR]
    for which, field in enumerate(("mean", "variance")):
        assert found["batch"][field] == [pair[which] for pair in batch]
        assert found["layer"][field] == [pair[which] for pair in layer]
        assert found["instance"][field] == [[pair[which] for pair in sample] for sample in instance]
    assert found["instance"]["mean"][2:] == [
        [Fraction(8, 3), Fraction(7, 3)],
        [Fraction(5, 3), Fraction(7, 3)],
    ]


def test_3_2_padding_moves_the_statistics_and_mates_move_the_word() -> None:
    _, found = worked("batchnorm_text")
    share, words = found["padding"], found["masked"]["mean"]
    assert found["naive"]["mean"] == [(1 - share) * mean for mean in words]  # the padding value is 0
    assert found["first_word"]["masked"] != found["first_word"]["alone"]


def test_3_3_the_expectation_is_a_loss_and_a_penalty() -> None:
    # X = [[1, 2], [2, 1], [0, 1]], y = (1, 2, 1), w = (1, 1/2), p = 4/5; per row E (y - sum r_j a_j)^2 is
    # (y - p sum a_j)^2 + p (1 - p) sum a_j^2 with a = x w.
    p, half = Fraction(4, 5), Fraction(1, 2)
    rows = [(1, [Fraction(1), Fraction(1)]), (2, [Fraction(2), half]), (1, [Fraction(0), half])]
    data = sum((y - p * sum(a)) ** 2 for y, a in rows)
    penalty = p * (1 - p) * sum(entry**2 for _, a in rows for entry in a)
    _, found = worked("dropout")
    assert (found["data_term"], found["penalty"], found["expected_loss"]) == (data, penalty, data + penalty)


def test_3_4_descent_from_zero_ends_at_the_shortest_solution() -> None:
    # X = [[1, 0, 1], [0, 1, 1]], y = (1, 5): X X^T lambda = -2 y is 2a + b = -2, a + 2b = -10, so lambda =
    # (2, -6) and w = -X^T lambda / 2 = (-1, 3, 2).
    _, found = worked("min_norm")
    assert found["multipliers"] == [2, -6]
    assert found["solution"] == found["limit"] == [-1, 3, 2]


def test_4_the_review_has_its_four_sections_on_one_page() -> None:
    _, found = worked("paper_review")
    text = " ".join(found[section] for section in ("summary", "strengths", "weaknesses", "reflections"))
    assert 300 < len(text.split()) <= 550
    assert found["claims"][0]["command"] == "vitruvius predict RUN IMAGE"
