"""The scale of attention at both ends and in between, by hand."""

from fractions import Fraction
from math import exp, log, sqrt
from typing import Any

import pytest

from tests.lessons.solving import answer_of
from vitruvius.core.errors import UserError
from vitruvius.lessons.temperature import Question

answer = answer_of("temperature")


def test_the_default_question() -> None:
    # Scores of the queries: (4, 0, 3) and (0, 6, 4); values (1, 0), (0, 1), (2, 2).
    found = answer()
    a, b, c = exp(4), 1.0, exp(3)  # at scale 1
    total = a + b + c
    assert found["outputs"][2][0] == pytest.approx([(a + 2 * c) / total, (b + 2 * c) / total], rel=1e-12)
    weights = [power / total for power in (a, b, c)]
    assert found["entropies"][2][0] == pytest.approx(-sum(w * log(w) for w in weights), rel=1e-12)
    assert found["entropies"][0] == pytest.approx([log(3), log(3)], rel=1e-12)
    assert found["limits"] == {"zero": [[1, 1], [1, 1]], "infinity": [[1, 0], [0, 1]]}
    assert found["convenient"] == Fraction(1, 2)


def test_two_keys_preserve_by_the_logit_of_the_error() -> None:
    # 1 / (1 + exp(gap beta)) = error, so beta = log((1 - error) / error) / gap, here with gaps 2 and 1/2.
    found = answer(q=[[2, 0], [0, "1/2"]], k=[[1, 0], [0, 1]], v=[[1], [2]], betas=[1], error="1/10")
    assert found["preserving"] == pytest.approx([log(9) / 2, log(9) / 0.5], rel=1e-12)
    assert found["convenient"] == pytest.approx(1 / sqrt(2), rel=1e-12)


def test_a_tie_is_shared_and_can_not_be_preserved() -> None:
    found = answer(q=[[1, 1]], k=[[1, 0], [0, 1], [0, 0]], v=[[4], [8], [100]], betas=[0, 3])
    assert found["limits"]["infinity"] == [[6]]
    assert found["preserving"] == [None]


def test_an_error_that_equal_weights_already_meet_needs_no_scale() -> None:
    assert answer(error="3/4")["preserving"] == [0, 0]


def test_hard_attention_preserves_and_soft_attention_diffuses() -> None:
    found = answer()
    assert found["preserves"].startswith("hard")
    assert found["diffuses"].startswith("soft")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"q": [[1, 2]]}, "k is 3 x 4: it needs M x D with D = 2 as in q"),
        ({"v": [[1]]}, "v is 1 x 1: it needs M x E with M = 3 as in k"),
        ({"k": [[1, 0, 0, 0]], "v": [[1]]}, "k is 1 x 4: it needs M x D with M from 2 to 64"),
        ({"betas": [-1]}, "betas.0 must be greater than or equal to 0"),
        ({"betas": []}, "betas has 0 entries: it needs B from 1 to 64"),
        ({"error": 0}, "error must be greater than"),
        ({"error": 1}, "error must be less than 1"),
    ],
)
def test_a_bad_question_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(**fields)
    assert message in str(caught.value)


def test_equal_scores_diffuse_at_any_scale() -> None:
    found = answer(q=[[0, 0, 1, -1]], k=[[2, 0, 0, 0], [0, 2, 0, 0], [1, 1, 1, 1]], betas=[0, 1, 1000])
    assert found["outputs"] == [[pytest.approx([1, 1])]] * 3
