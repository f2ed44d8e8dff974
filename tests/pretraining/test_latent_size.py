"""The answer about latent sizes says what the numbers say, whatever they are."""

import pytest

from vitruvius.pretraining import latent_size
from vitruvius.pretraining.results import Certificate, RepeatSummary, Result


def summary(
    objective: str, latent: int, loss: float | None, before: float | None, after: float | None
) -> RepeatSummary:
    return RepeatSummary(
        objective=objective,
        latent=latent,
        val_loss=loss,
        val_loss_range=None if loss is None else (loss, loss),
        accuracy_before=before,
        accuracy=after,
        accuracy_range=None if after is None else (after, after),
    )


def result(rows: list[RepeatSummary], optimum: dict[int, float] | None = None) -> Result:
    certificates = [
        Certificate(
            objective="reconstruct",
            latent=latent,
            repeat=0,
            loss=value,
            optimum=value,
            gap=0.0,
            val_loss=None,
            val_optimum=None,
            angles=(),
            eigengap=None,
            converged=True,
        )
        for latent, value in (optimum or {}).items()
    ]
    return Result(
        outcomes=tuple(rows),
        certificates=tuple(certificates),
        features=100,
        variance=280.0,
        loss="",
        probe="",
        epochs=1,
        seconds=0.0,
        seed=0,
        data="",
        run="",
        inexact=False,
    )


ASSIGNMENT = [
    summary("reconstruct", 5, 230.0, 0.60, 0.66),
    summary("reconstruct", 20, 80.0, 0.78, 0.98),
    summary("reconstruct", 100, 0.7, 0.95, 0.978),
    summary("reconstruct", 500, 0.0, 0.984, 0.985),
]


def text(found: Result, linear: bool) -> str:
    return "\n".join(block.text for block in latent_size.answer(found, linear))  # type: ignore[union-attr]


def test_the_assignments_shape_gets_the_assignments_answer() -> None:
    said = text(result(ASSIGNMENT, {5: 229.6, 20: 79.8, 100: 0.0, 500: 0.0}), linear=True)
    for sentence in (
        "It falls as the latent size grows.",
        "leaves 229.6 at 5, 79.8 at 20, 0 at 100, 0 at 500",
        "0.7 is left, 0.25% of the variance",
        "Going on to latent 500 wins 0.25% of the variance more.",
        "Latent 5 stays 32.5 points below latent 500",
        "it holds at most 18% of the variance",
        "Training matters most at latent 20 (+20.0 points): before, the code is a random projection",
        "At latent 500 even untrained features reach 98.4% and training adds 0.1 points",
    ):
        assert sentence in said


def test_what_did_not_happen_is_not_claimed() -> None:
    rows = [summary("reconstruct", 8, 5.0, 0.9, 0.9), summary("reconstruct", 16, 6.0, 0.91, 0.905)]
    said = text(result(rows), linear=False)
    assert "It does not fall with every step of the latent size." in said
    assert "Training wins at most 0.0 points at any size." in said
    assert "Training matters" not in said
    assert "stays" not in said
    assert "random linear map" not in said
    assert "By objective" not in said


def test_objectives_are_compared_where_the_first_ones_probe_is_best() -> None:
    others = [summary("mask", row.latent, 90.0, row.accuracy_before, 0.97) for row in ASSIGNMENT]
    said = text(result([*ASSIGNMENT, *others]), linear=True)
    assert "By objective, at latent 500: reconstruct 98.5% (loss 0), mask 97.0% (loss 90)." in said


@pytest.mark.parametrize("rows", [ASSIGNMENT[:1], [summary("mask", 64, None, None, None)]])
def test_one_size_asks_no_question(rows: list[RepeatSummary]) -> None:
    assert latent_size.answer(result(rows), linear=True) == []


def test_without_labels_only_losses_are_spoken_of() -> None:
    rows = [summary("reconstruct", size, 10.0 / size, None, None) for size in (2, 4)]
    said = text(result(rows), linear=False)
    assert "the validation loss is 5 at latent 2, 2.5 at latent 4" in said
    assert "probe" not in said
