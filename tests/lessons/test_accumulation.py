"""Gradient accumulation: who agrees with the large batch and who cannot."""

from typing import Any

import pytest
import torch

from tests.lessons.solving import answer_of
from vitruvius.core.errors import UserError
from vitruvius.lessons.accumulation import Question

answer = answer_of("accumulation")


def test_the_six_combinations() -> None:
    table = answer()["table"]
    pairs = [(1, 32), (2, 16), (4, 8), (8, 4), (16, 2), (32, 1)]
    for norm in ("batch", "layer"):
        rows = [row for row in table if row["norm"] == norm]
        assert [(row["batch"], row["steps"]) for row in rows] == pairs
        for row in rows:
            differs = norm == "batch" and row["batch"] < 32
            assert (row["logits"] > 1e-3) == differs
            assert (row["gradient"] > 1e-3) == differs
            if not differs:
                assert row["logits"] == row["gradient"] == 0


def test_smaller_micro_batches_are_further_off() -> None:
    gradients = [row["gradient"] for row in answer()["table"] if row["norm"] == "batch"]
    assert gradients == sorted(gradients, reverse=True)


def test_batch_norm_is_guilty() -> None:
    assert answer()["guilty"] == {"batch": ["norm1", "norm2"], "layer": []}


def test_why_on_one_feature() -> None:
    # the batch (0, 2, 4, 6) is normalised by mean 3, its halves by means 1 and 5: other numbers come out
    norm, whole = torch.nn.BatchNorm1d(1, eps=1e-12), torch.tensor([[0.0], [2.0], [4.0], [6.0]])
    assert norm(whole).flatten().tolist() == pytest.approx([-3 / 5**0.5, -1 / 5**0.5, 1 / 5**0.5, 3 / 5**0.5])
    assert norm(whole[:2]).flatten().tolist() == pytest.approx([-1, 1])


def test_unequal_micro_batches_need_their_shares() -> None:
    unequal = answer()["unequal"]
    assert unequal["weighted"] == 0
    assert unequal["divided"] > 0.1
    assert answer(effective=6, unequal=[3, 3])["unequal"] == {"divided": 0, "weighted": 0}


@pytest.mark.parametrize(
    ("samples", "batch", "steps", "expected"),
    [(44, 8, 4, (6, 1, 12)), (64, 8, 4, (8, 2, 0)), (7, 2, 5, (4, 0, 7)), (31, 8, 4, (4, 1, 0))],
)
def test_leftover_micro_batches(samples: int, batch: int, steps: int, expected: tuple[int, ...]) -> None:
    # micro-batches, updates, and samples whose gradients are still in .grad when the epoch ends
    assert tuple(answer(samples=samples, batch=batch, steps=steps)["leftover"].values()) == expected


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"effective": 16},
            "unequal has [10, 10, 10, 2], 32 samples, it needs positive sizes that add up",
        ),
        ({"unequal": [32, 0]}, "unequal has [32, 0], 32 samples, it needs positive sizes"),
        ({"effective": 1}, "effective must be greater than or equal to 2"),
    ],
)
def test_a_question_that_does_not_fit_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(**fields)
    assert message in str(caught.value)
