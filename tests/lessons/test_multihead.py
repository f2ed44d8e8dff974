"""Multi-head attention by hand against numpy, in both layouts, with another context and other shapes."""

from typing import Any

import numpy as np
import pytest

from tests.lessons.solving import answer_of, work
from vitruvius.core.errors import UserError
from vitruvius.lessons._tensors import Array
from vitruvius.lessons.multihead import Question, prove

answer = answer_of("multihead")


def by_numpy(question: Question) -> Array:
    x = np.array(question.x, dtype=float)
    context = np.array(question.tokens, dtype=float)
    heads = []
    for w_q, w_k, w_v in zip(question.w_q, question.w_k, question.w_v, strict=True):
        q, k, v = x @ np.array(w_q, float), context @ np.array(w_k, float), context @ np.array(w_v, float)
        scores = q @ k.T / (np.sqrt(k.shape[1]) if question.scaled else 1)
        powers = np.exp(scores - scores.max(1, keepdims=True))
        heads.append(powers / powers.sum(1, keepdims=True) @ v)
    return np.concatenate(heads, 1) @ np.array(question.w_o, float)


def test_the_assignments_numbers() -> None:
    found = answer()
    assert found["q"] == [[[4, 4, 3], [3, 5, 2]], [[3, 6, 4], [5, 5, 7]]]
    assert found["k"] == [[[7, 8, 6], [6, 8, 5]], [[2, 3, 3], [2, 3, 2]]]
    assert found["v"] == [[[12, 8, 10], [11, 9, 13]], [[9, 6, 9], [16, 9, 14]]]
    # Two keys: the first weight is the logistic function of the difference of the scores, here 7 / sqrt(3).
    assert found["weights"][0][0][0] == pytest.approx(1 / (1 + np.exp(-7 / np.sqrt(3))), rel=1e-12)
    np.testing.assert_allclose(np.array(found["output"], float), by_numpy(Question()), rtol=1e-12)


def test_columns_are_rows_transposed() -> None:
    rows, columns = answer(), answer(layout="columns")
    for name in ("q", "weights", "heads"):
        for a, b in zip(rows[name], columns[name], strict=True):
            np.testing.assert_allclose(np.array(a, float).T, np.array(b, float))
    np.testing.assert_allclose(np.array(rows["output"]).T, np.array(columns["output"]))


def test_keys_and_values_may_come_from_another_context_and_have_other_widths() -> None:
    fields: dict[str, Any] = {
        "x": [[1, 2]],
        "context": [[1, 0, "1/2"], [0, 1, 0], [2, 2, -1]],
        "w_q": [[[1], [0]], [[0], [1]]],
        "w_k": [[[1], [2], [0]], [[0], [0], [1]]],
        "w_v": [[[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]], [[1], [1], [1]]],
        "w_o": [[1], [1], [1], [1], [1]],
        "scaled": False,
    }
    found, expected = answer(**fields)["output"], by_numpy(Question(**fields))
    np.testing.assert_allclose(np.array(found, float), expected, rtol=1e-12)


def test_a_key_width_with_a_whole_root_keeps_scores_exact() -> None:
    eye = [[int(i == j) for j in range(4)] for i in range(4)]
    found = answer(x=[[1, 2, 3, 5]], w_q=[eye], w_k=[eye], w_v=[eye], w_o=eye)
    assert found["scores"] == [[[39 / 2]]]
    assert found["output"] == [[1, 2, 3, 5]]


def test_weights_close_to_zero_are_proved_by_their_logarithms() -> None:
    question = {"x": [[5], [0]], "w_q": [[[1]]], "w_k": [[[1]]], "w_v": [[[1]]], "w_o": [[1]]}  # e^-25
    found = answer(**question)
    found["weights"][0][0][1] *= 1 + 1e-6
    assert not all(proof.passed for proof in prove(Question(**question), found))


def test_weights_too_small_for_a_double_are_zero() -> None:
    found = answer(x=[[40], [0]], w_q=[[[1]]], w_k=[[[1]]], w_v=[[[1]]], w_o=[[1]])
    assert found["weights"][0][0] == [1, 0]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"x": [[1, 2], [3]]}, "x has rows of 1 or 2 entries"),
        ({"x": [[1, 2]]}, "w_q of head 1 is 6 x 3: it needs D x E1 with D = 2 as in x"),
        ({"context": [[1, 2]]}, "w_k of head 1 is 6 x 3: it needs C x E1 with C = 2 as in context"),
        ({"w_q": []}, "w_q has 0 entries: it needs H from 1 to 16"),
        ({"w_k": [[[1]] * 6] * 2}, "w_k of head 1 is 6 x 1: it needs D x E1 with E1 = 3 as in w_q of head 1"),
        ({"w_o": [[1, 2]]}, "w_o has 1 rows: it needs 6, the heads side by side"),
        ({"layout": "columns", "w_o": [[1, 2]]}, "w_o has 2 columns: it needs 6"),
        ({"x": [[1] * 65]}, "x is 1 x 65: it needs N x D with D from 1 to 64"),
    ],
)
def test_shapes_that_do_not_fit_are_named(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Question(**fields)


@pytest.mark.parametrize(
    ("layout", "formulas"),
    [
        ("rows", ("Q_i = X W_i^Q", "V_i = X W_i^V", "H_i = A_i V_i", r"O = [H_1, \dots, H_h] W^O")),
        ("columns", ("Q_i = W_i^Q X", "V_i = W_i^V X", "H_i = V_i A_i", r"O = W^O [H_1; \dots; H_h]")),
    ],
)
def test_the_general_formulas_in_both_layouts(layout: str, formulas: tuple[str, ...]) -> None:
    steps, _ = work("multihead", layout=layout)
    assert [formula for formula in formulas if formula not in steps[0].formula] == []
    assert f"each {layout[:-1]} of weights" in steps[0].says
