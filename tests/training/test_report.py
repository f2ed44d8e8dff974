"""The report of a training: curves without gaps, confusion in percent, every setting in a table."""

import ast

import pytest
import torch

from vitruvius.arch.arch import Arch
from vitruvius.core.blocks import Lines, Table, Text
from vitruvius.datasets import Dataset, Split
from vitruvius.render import text
from vitruvius.training import card, report
from vitruvius.training.mistakes import Shown
from vitruvius.training.recipe import ClassifierSettings
from vitruvius.training.results import Epoch, Mistake, Result, TestScore, Timing


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


def test_confusion_shows_counts_coloured_by_the_share_of_the_true_class() -> None:
    drawn = card.confusion(("a", "b", "c"), [[3, 1, 0], [0, 2, 1], [0, 0, 0]])
    assert drawn.values == ((75.0, 25.0, 0.0), (0.0, 66.7, 33.3), (0.0, 0.0, 0.0))
    assert drawn.texts == (("3", "1", "0"), ("0", "2", "1"), ("0", "0", "0"))


@pytest.mark.parametrize(("values", "low", "high"), [((0.981, 0.984), 90, 100.5), ((0.31, 0.88), 30, 90.5)])
def test_axes_are_not_zoomed_into_noise(values: tuple[float, float], low: float, high: float) -> None:
    loss, accuracy = report.curves([replaced(1, values[0]), replaced(2, values[1])]).figures
    assert isinstance(loss, Lines)
    assert isinstance(accuracy, Lines)
    assert accuracy.y_range == (low, high)
    assert loss.y_range is not None
    assert loss.y_range[0] == 0.0


def replaced(number: int, accuracy: float) -> Epoch:
    return epoch(number, accuracy).model_copy(update={"train_accuracy": accuracy})


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
    _, measured, _, chosen = report.facts(result, settings)
    assert isinstance(measured, Table)
    assert isinstance(chosen, Table)
    assert ("test_accuracy", "90.00%") in measured.rows
    assert ("val_accuracy", None) in measured.rows
    assert ("set", "depth=2, heads=4") in chosen.rows
    assert ("flip", "no") in chosen.rows
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
    blocks = [*report.model_card("mnist", "", result), *report.answers(trained(result))]
    written = text.markdown(blocks)
    assert about_test in written
    assert about_weights in written
    assert ("once, at the end" in written) == (about_test == "read once, at the end")
    assert ("Not tested" in written) == (result.test_accuracy is None)


SCORE = TestScore(
    loss=0.3,
    accuracy=0.85,
    confusion=((9, 1), (2, 8)),
    wrong=(Mistake(index=1, true="oak", predicted="elm", probability=0.98),),
)
ARCH = Arch(image=8, patch=4, width=8, depth=2, heads=(2, 4), mlp=8, classes=2)


def trained(result: Result) -> report.Trained:
    part = Split(torch.zeros(2, 1, 8, 8, dtype=torch.uint8), torch.arange(2))
    data = Dataset("toy", part, part, part, ("oak", "elm"), (0.25,), (0.5,), "two pictures", "")
    shown = Shown(SCORE.wrong[0], [[[0.5] * 8] * 8], [[0.1, 0.9], [0.2, 0.3]])
    test = SCORE if result.test_accuracy is not None else None
    return report.Trained(ClassifierSettings(), data, ARCH, result, test, [shown] if test else [])


def test_the_answer_comes_first_with_its_interval_and_the_baseline() -> None:
    against = "not better than linear probe 90.00% on the test images: too few steps"
    first, second, *_ = report.answers(trained(Result(**RESULT, against_baselines=against)))
    assert isinstance(first, Text)
    assert isinstance(second, Text)
    assert first.text == "85.00 % of 20 test images are right (95 % interval 64.0 to 94.8 %)."
    assert second.text == f"The network is {against}."


def test_the_report_shows_classes_network_input_and_five_lines_that_load_it() -> None:
    written = text.markdown(report.details(trained(Result(**RESULT))))
    assert "| oak | 10 | 9 | 90.0% | 11 | 81.8% |" in written
    assert "| heads | 2 to 4 |" in written
    assert "minus 0.25, divided by 0.5" in written
    assert "oak, elm" in written
    code = written.partition("```\n")[2].partition("\n```")[0].splitlines()
    assert len(code) == 5
    ast.parse("\n".join(code))


def test_mistakes_show_the_class_what_was_said_and_the_attention() -> None:
    drawn = report.mistakes(trained(Result(**RESULT)).wrong)
    assert drawn.columns == ("oak\nsaid: elm\n98%",)
    image, heated = drawn.pixels[0][0], drawn.pixels[1][0]
    assert image[0][0] == (0.5, 0.5, 0.5)
    assert heated[0][7] != heated[0][0]


def test_top_five_is_said_where_it_was_counted() -> None:
    assert card.top5(SCORE) == []
    (said,) = card.top5(SCORE.model_copy(update={"top5": 0.975}))
    assert isinstance(said, Text)
    assert "97.50%" in said.text


def test_a_warm_up_that_was_cut_is_shown_as_it_was() -> None:
    *_, chosen = report.facts(Result(**RESULT, warmup_steps=20), ClassifierSettings(warmup=1000))
    assert isinstance(chosen, Table)
    assert ("warmup", "20 (of 1000, which did not fit)") in chosen.rows
    *_, whole = report.facts(Result(**RESULT, warmup_steps=1000), ClassifierSettings(warmup=1000))
    assert isinstance(whole, Table)
    assert ("warmup", 1000) in whole.rows
