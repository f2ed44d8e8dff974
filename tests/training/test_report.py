"""The report of a training: curves without gaps, confusion in percent, every setting in a table."""

import pytest

from vitruvius.core.blocks import Lines, Table
from vitruvius.render import text
from vitruvius.training import report
from vitruvius.training.recipe import ClassifierSettings
from vitruvius.training.results import Epoch, Result, Timing


def epoch(number: int, val_accuracy: float | None) -> Epoch:
    return Epoch(
        epoch=number,
        train_loss=1 / number,
        train_accuracy=0.5,
        val_loss=None if val_accuracy is None else 0.25,
        val_accuracy=val_accuracy,
        lr=0.001,
        grad_norm=1.0,
        timing=Timing(seconds=1.0, images_per_second=10.0),
    )


def test_accuracies_are_percent_and_epochs_without_a_value_are_left_out() -> None:
    loss, accuracy = report.curves([epoch(1, None), epoch(2, 0.75)]).figures
    assert isinstance(loss, Lines)
    assert isinstance(accuracy, Lines)
    assert [(series.name, series.x, series.y) for series in loss.series] == [
        ("training", (1, 2), (1.0, 0.5)),
        ("validation", (2,), (0.25,)),
    ]
    assert [series.y for series in accuracy.series] == [(50.0, 50.0), (75.0,)]


def test_without_a_validation_set_there_is_no_validation_curve() -> None:
    loss, _ = report.curves([epoch(1, None)]).figures
    assert isinstance(loss, Lines)
    assert [series.name for series in loss.series] == ["training"]


def test_confusion_is_in_percent_of_the_true_class_and_an_empty_class_is_zero() -> None:
    assert report.confusion(("a", "b", "c"), [[3, 1, 0], [0, 2, 1], [0, 0, 0]]).values == (
        (75.0, 25.0, 0.0),
        (0.0, 66.7, 33.3),
        (0.0, 0.0, 0.0),
    )


def test_the_tables_hold_the_accuracy_in_percent_and_every_setting() -> None:
    result = Result(
        test_accuracy=0.9,
        test_loss=0.3,
        val_accuracy=None,
        best_epoch=2,
        epochs=3,
        seconds=6.0,
        images_per_second=50.0,
        params=1234,
        seed=0,
        run="a",
        data="toy",
        compile="off",
    )
    settings = ClassifierSettings(set=("depth=2", "heads=4"))
    _, _, measured, _, chosen = report.facts(result, settings)
    assert isinstance(measured, Table)
    assert isinstance(chosen, Table)
    assert ("test_accuracy", "90.00%") in measured.rows
    assert ("val_accuracy", None) in measured.rows
    assert ("set", "depth=2, heads=4") in chosen.rows
    assert [row[0] for row in chosen.rows] == list(ClassifierSettings.model_fields)


RESULT = {
    "test_accuracy": 0.9,
    "test_loss": 0.3,
    "val_accuracy": 0.8,
    "best_epoch": 2,
    "epochs": 3,
    "seconds": 6.0,
    "images_per_second": 50.0,
    "params": 1234,
    "seed": 0,
    "run": "a",
    "data": "toy",
    "compile": "off",
}


@pytest.mark.parametrize(
    ("fields", "about_test", "about_weights"),
    [
        ({}, "read once, at the end", "best validation epoch"),
        (
            {"test_readings": 3},
            "read 3 times, as the run was continued after its end",
            "best validation epoch",
        ),
        (
            {"test_accuracy": None, "test_images": 0, "test_readings": 0},
            "no test set",
            "best validation epoch",
        ),
        (
            {"test_accuracy": None, "finished": False, "test_readings": 0},
            "were not tested.",
            "best validation",
        ),
        ({"test_accuracy": None, "finished": False}, "before it was continued they were read once", "best"),
        ({"val_accuracy": None}, "read once, at the end", "those of the last epoch"),
        (
            {"best_epoch": 0, "val_accuracy": None},
            "read once, at the end",
            "before its first epoch had ended",
        ),
    ],
)
def test_the_card_says_what_happened_to_the_test_images_and_which_weights_these_are(
    fields: dict[str, object], about_test: str, about_weights: str
) -> None:
    result = Result(**{**RESULT, **fields})
    card = text.markdown(report.card("mnist", "", result, report.facts(result, ClassifierSettings())))
    assert about_test in card
    assert about_weights in card
    assert ("once, at the end" in card) == (about_test == "read once, at the end")
    assert ("Not tested" in card) == (result.test_accuracy is None)


def test_a_warm_up_that_was_cut_is_shown_as_it_was() -> None:
    *_, chosen = report.facts(Result(**RESULT, warmup_steps=20), ClassifierSettings(warmup=1000))
    assert isinstance(chosen, Table)
    assert ("warmup", "20 (of 1000, which did not fit)") in chosen.rows
    *_, whole = report.facts(Result(**RESULT, warmup_steps=1000), ClassifierSettings(warmup=1000))
    assert isinstance(whole, Table)
    assert ("warmup", 1000) in whole.rows
