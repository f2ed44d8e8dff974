"""Measurements read back from records.jsonl, and summarised over the repeats."""

import pytest

from vitruvius.core.errors import UserError
from vitruvius.pretraining.results import Point, Points, read_points, summarise


def points(epoch: int, *losses: float, accuracy: float | None = 0.5) -> Points:
    measured = {"objective": "mask", "latent": 3, "accuracy": accuracy, "train_losses": (1.0,)}
    return Points(
        epoch=epoch,
        points=tuple(Point(**measured, repeat=r, val_loss=loss) for r, loss in enumerate(losses)),
    )


def test_measurements_survive_the_run_folder() -> None:
    kept = [points(0, 2.0, 3.0), points(1, 1.0, 2.0, accuracy=None)]
    lines = [{"kind": "epoch", "epoch": 1}, *(one.line() for one in kept)]
    assert read_points(lines) == kept


def test_a_measurement_of_another_shape_is_refused() -> None:
    line = points(0, 2.0).line()
    del line["points"][0]["repeat"]
    with pytest.raises(UserError, match="repeat is missing"):
        read_points([line])


def test_repeats_are_summarised_by_mean_and_range() -> None:
    (found,) = summarise(points(0, 9.0, 9.0, accuracy=0.25), points(4, 1.0, 2.0))
    assert (found.val_loss, found.val_loss_range) == (1.5, (1.0, 2.0))
    assert (found.accuracy_before, found.accuracy, found.accuracy_range) == (0.25, 0.5, (0.5, 0.5))


def test_without_a_probe_there_is_no_accuracy() -> None:
    (found,) = summarise(points(0, 9.0, accuracy=None), points(4, 1.0, accuracy=None))
    assert (found.accuracy, found.accuracy_before, found.accuracy_range) == (None, None, None)
    assert next(iter(points(4, 1.0, accuracy=None).view())).text.endswith("3: loss 1")  # type: ignore[union-attr]
