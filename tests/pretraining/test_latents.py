"""The answer about latent sizes says what the numbers say, whatever they are."""

from typing import Any

import pytest

from vitruvius.pretraining import latents
from vitruvius.pretraining import report as pretraining


def outcome(
    objective: str, latent: int, loss: float | None, before: float | None, after: float | None
) -> dict[str, Any]:
    return {
        "objective": objective,
        "latent": latent,
        "val_loss": loss,
        "val_loss_range": None if loss is None else (loss, loss),
        "accuracy_before": before,
        "accuracy": after,
        "accuracy_range": None if after is None else (after, after),
    }


def result(rows: list[dict[str, Any]], optimum: dict[int, float] | None = None) -> dict[str, Any]:
    certificates = [{"latent": latent, "optimum": value} for latent, value in (optimum or {}).items()]
    return {"outcomes": rows, "certificates": certificates, "features": 100, "variance": 280.0}


LINEAR, MLP = {"model": "linear"}, {"model": "mlp"}
ASSIGNMENT = [
    outcome("reconstruct", 5, 230.0, 0.60, 0.66),
    outcome("reconstruct", 20, 80.0, 0.78, 0.98),
    outcome("reconstruct", 100, 0.7, 0.95, 0.978),
    outcome("reconstruct", 500, 0.0, 0.984, 0.985),
]


def text(found: dict[str, Any], config: dict[str, Any]) -> str:
    return "\n".join(block.text for block in latents.answer(found, config))  # type: ignore[union-attr]


def test_the_assignments_shape_gets_the_assignments_answer() -> None:
    said = text(result(ASSIGNMENT, {5: 229.6, 20: 79.8, 100: 0.0, 500: 0.0}), LINEAR)
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
    rows = [outcome("reconstruct", 8, 5.0, 0.9, 0.9), outcome("reconstruct", 16, 6.0, 0.91, 0.905)]
    said = text(result(rows), MLP)
    assert "It does not fall with every step of the latent size." in said
    assert "Training wins at most 0.0 points at any size." in said
    assert "Training matters" not in said
    assert "stays" not in said
    assert "random linear map" not in said
    assert "By objective" not in said


def test_objectives_are_compared_where_the_first_ones_probe_is_best() -> None:
    others = [outcome("mask", row["latent"], 90.0, row["accuracy_before"], 0.97) for row in ASSIGNMENT]
    said = text(result([*ASSIGNMENT, *others]), LINEAR)
    assert "By objective, at latent 500: reconstruct 98.5% (loss 0), mask 97.0% (loss 90)." in said


@pytest.mark.parametrize("rows", [ASSIGNMENT[:1], [outcome("mask", 64, None, None, None)]])
def test_one_size_asks_no_question(rows: list[dict[str, Any]]) -> None:
    assert latents.answer(result(rows), LINEAR) == []


def test_without_labels_only_losses_are_spoken_of() -> None:
    rows = [outcome("reconstruct", size, 10.0 / size, None, None) for size in (2, 4)]
    said = text(result(rows), MLP)
    assert "the validation loss is 5 at latent 2, 2.5 at latent 4" in said
    assert "probe" not in said


def test_a_curve_is_the_mean_in_a_band_over_the_repeats() -> None:
    points = [
        {"objective": "mask", "latent": 3, "repeat": r, "val_loss": loss} for r, loss in enumerate((1.0, 4.0))
    ]
    epochs = [{"kind": "points", "epoch": epoch, "points": points} for epoch in (0, 1)]
    found = pretraining.curve(epochs, "val_loss", "mask", 3, 2.0)
    assert (found.x, found.y, found.low, found.high) == ((0, 1), (5.0, 5.0), (2.0, 2.0), (8.0, 8.0))
