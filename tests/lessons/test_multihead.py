"""Multi-head attention by hand against numpy, in both layouts, with another context and other shapes."""

from typing import Any

import numpy as np
import pytest

from vitruvius.core.errors import UserError
from vitruvius.lessons import multihead
from vitruvius.lessons.multihead import Question

Array = np.ndarray[Any, Any]


def solved(question: Question) -> dict[str, Any]:
    *_, answer = multihead.solve(question)
    assert all(proof.passed for proof in multihead.prove(question, answer))  # type: ignore[arg-type]
    return answer.fields  # type: ignore[union-attr]


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
    answer = solved(Question())
    assert answer["q"] == [[[4, 4, 3], [3, 5, 2]], [[3, 6, 4], [5, 5, 7]]]
    assert answer["k"] == [[[7, 8, 6], [6, 8, 5]], [[2, 3, 3], [2, 3, 2]]]
    assert answer["v"] == [[[12, 8, 10], [11, 9, 13]], [[9, 6, 9], [16, 9, 14]]]
    # Two keys: the weight of the first is the logistic function of the difference of its scores, 7 / sqrt(3) here.
    assert answer["weights"][0][0][0] == pytest.approx(1 / (1 + np.exp(-7 / np.sqrt(3))), rel=1e-12)
    np.testing.assert_allclose(np.array(answer["output"], float), by_numpy(Question()), rtol=1e-12)


def test_columns_are_rows_transposed() -> None:
    rows, columns = solved(Question()), solved(Question(layout="columns"))
    for name in ("q", "weights", "heads"):
        for a, b in zip(rows[name], columns[name], strict=True):
            np.testing.assert_allclose(np.array(a, float).T, np.array(b, float))
    np.testing.assert_allclose(np.array(rows["output"]).T, np.array(columns["output"]))


def test_keys_and_values_may_come_from_another_context_and_have_other_widths() -> None:
    question = Question(
        x=[[1, 2]],
        context=[[1, 0, "1/2"], [0, 1, 0], [2, 2, -1]],
        w_q=[[[1], [0]], [[0], [1]]],
        w_k=[[[1], [2], [0]], [[0], [0], [1]]],
        w_v=[[[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]], [[1], [1], [1]]],
        w_o=[[1], [1], [1], [1], [1]],
        scaled=False,
    )
    np.testing.assert_allclose(np.array(solved(question)["output"], float), by_numpy(question), rtol=1e-12)


def test_a_key_width_with_a_whole_root_keeps_scores_exact() -> None:
    eye = [[int(i == j) for j in range(4)] for i in range(4)]
    answer = solved(Question(x=[[1, 2, 3, 5]], w_q=[eye], w_k=[eye], w_v=[eye], w_o=eye))
    assert answer["scores"] == [[[39 / 2]]]
    assert answer["output"] == [[1, 2, 3, 5]]


def test_weights_close_to_zero_are_proved_by_their_logarithms() -> None:
    question = Question(x=[[5], [0]], w_q=[[[1]]], w_k=[[[1]]], w_v=[[[1]]], w_o=[[1]])  # e^-25
    *_, answer = multihead.solve(question)
    answer["weights"][0][0][1] *= 1 + 1e-6  # type: ignore[index]
    assert not all(proof.passed for proof in multihead.prove(question, answer))  # type: ignore[arg-type]


def test_weights_too_small_for_a_double_are_zero() -> None:
    answer = solved(Question(x=[[40], [0]], w_q=[[[1]]], w_k=[[[1]]], w_v=[[[1]]], w_o=[[1]]))
    assert answer["weights"][0][0] == [1, 0]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"x": [[1, 2], [3]]}, "x has 2 rows of 1 or 2 entries"),
        ({"x": [[1, 2]]}, "w_q of head 1 is 6 x 3: it needs 2 rows, one per entry of a token of x"),
        ({"context": [[1, 2]]}, "w_k of head 1 is 6 x 3: it needs 2 rows"),
        ({"w_q": []}, "w_q has 0 heads, w_k 2 and w_v 2"),
        ({"w_k": [[[1]] * 6] * 2}, "makes queries of 3 numbers, w_k keys of 1"),
        ({"w_o": [[1, 2]]}, "w_o is 1 x 2: it needs 6 rows, one per entry of the 2 heads side by side"),
        ({"layout": "columns", "w_o": [[1, 2]]}, "it needs 6 columns"),
        ({"x": [[1] * 65]}, "one length, 1 to 64"),
    ],
)
def test_shapes_that_do_not_fit_are_named(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Question(**fields)
