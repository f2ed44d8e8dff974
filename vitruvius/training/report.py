"""The report of a training: learning curves, confusion matrix, tables of result and settings, model card."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vitruvius.core import files
from vitruvius.core.blocks import Block, Heatmap, Lines, Panels, Series, Table, Text
from vitruvius.core.runs import RunFolder
from vitruvius.datasets import Dataset
from vitruvius.render import figures, page, text
from vitruvius.training import results
from vitruvius.training.recipe import ClassifierSettings
from vitruvius.training.results import Epoch, Result, TestScore

Points = Mapping[str, Sequence[tuple[int, float | None]]]


def write(
    folder: RunFolder, settings: ClassifierSettings, data: Dataset, result: Result, test: TestScore
) -> None:
    """Write curves.png, confusion.png, report.html and the model card README.md of a finished run."""
    lines, matrix = curves(results.epochs(folder.records())), confusion(data.classes, test.confusion)
    figures.write_png(lines, folder.path("curves.png"))
    figures.write_png(matrix, folder.path("confusion.png"))
    tables = facts(result, settings)
    said = [block for finding in result.findings for block in finding.view()]
    doctor = [Text(text="Findings of the doctor", style="title"), *said] if said else []
    html = page.page(f"{settings.arch} on {data.name}", [*tables, *doctor, lines, matrix])
    files.write(folder.path("report.html"), html)
    files.write(folder.path("README.md"), text.markdown(card(settings.arch, data.source, tables)))


def curves(epochs: Sequence[Epoch]) -> Panels:
    """Plot loss and accuracy of the training and the validation set against the epoch."""
    loss: Points = {
        "training": [(epoch.epoch, epoch.train_loss) for epoch in epochs],
        "validation": [(epoch.epoch, epoch.val_loss) for epoch in epochs],
    }
    accuracy: Points = {
        "training": [(epoch.epoch, _percent(epoch.train_accuracy)) for epoch in epochs],
        "validation": [(epoch.epoch, _percent(epoch.val_accuracy)) for epoch in epochs],
    }
    figures = (_lines("Loss", "mean cross-entropy", loss), _lines("Accuracy", "accuracy in %", accuracy))
    return Panels(title="Training", figures=figures)


def confusion(classes: Sequence[str], counts: Sequence[Sequence[int]]) -> Heatmap:
    """Plot how often test images of each class are classified as which, in percent of the true class."""
    rows = [[100 * count / max(1, sum(row)) for count in row] for row in counts]
    return Heatmap(
        title="Test images by true and predicted class, in % of the true class",
        values=tuple(tuple(round(value, 1) for value in row) for row in rows),
        rows=tuple(classes),
        columns=tuple(classes),
        x_label="predicted",
        y_label="true",
    )


def facts(result: Result, settings: ClassifierSettings) -> list[Block]:
    """Return the result and all settings as two tables."""
    fields = result.model_dump(mode="json", exclude={"findings"})
    fields |= {
        key: f"{value:.2%}" for key, value in fields.items() if "accuracy" in key and value is not None
    }
    chosen = settings.model_dump(mode="json")
    return [
        Text(text=f"Test accuracy {fields['test_accuracy']}", style="title"),
        Table(columns=("result", ""), rows=tuple((key, _cell(value)) for key, value in fields.items())),
        Text(text="Recipe", style="title"),
        Table(columns=("setting", ""), rows=tuple((key, _cell(value)) for key, value in chosen.items())),
    ]


def card(arch: str, source: str, tables: Iterable[Block]) -> list[Block]:
    """Return the model card: the weights, their training data, how good they are, how to use them."""
    return [
        Text(text=f"A Vision Transformer ({arch}) for image classification", style="title"),
        Text(
            text=f"Trained by `vitruvius train` on {source or 'the data named below'}. The weights "
            "(model.safetensors) are those of the best validation epoch; the test images were read once, "
            "at the end."
        ),
        *tables,
        Text(text="Use", style="title"),
        Text(text="`vitruvius predict RUN IMAGE...` classifies images and shows where the model looks."),
    ]


def _lines(title: str, label: str, points: Points) -> Lines:
    """Plot one curve per name; epochs without a value are left out, and curves without any."""
    series = []
    for name, pairs in points.items():
        known = [(x, y) for x, y in pairs if y is not None]
        if known:
            x, y = zip(*known, strict=True)
            series.append(Series(name=name, x=x, y=y))
    return Lines(title=title, series=tuple(series), x_label="epoch", y_label=label)


def _percent(fraction: float | None) -> float | None:
    return None if fraction is None else 100 * fraction


def _cell(value: Any) -> str | int | float | None:
    return value if isinstance(value, str | int | float | None) else ", ".join(map(str, value))
