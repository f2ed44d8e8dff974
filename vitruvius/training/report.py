"""The report of a training: learning curves, confusion matrix, tables of result and settings, model card."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vitruvius.core import files
from vitruvius.core.blocks import Block, Heatmap, Lines, Panels, Series, Table, Text
from vitruvius.core.config import Strict
from vitruvius.core.runs import RunFolder
from vitruvius.datasets import Dataset
from vitruvius.render import figures, page, text
from vitruvius.training import results
from vitruvius.training.recipe import ClassifierSettings
from vitruvius.training.results import Epoch, Result, TestScore


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
    loss = _lines("Loss", "mean cross-entropy", epochs, "loss", 1)
    accuracy = _lines("Accuracy", "accuracy in %", epochs, "accuracy", 100)
    return Panels(title="Training", figures=(loss, accuracy))


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
    known = {key: value for key, value in fields.items() if "accuracy" in key and value is not None}
    fields |= {key: f"{value:.2%}" for key, value in known.items()}
    title = Text(text=f"Test accuracy {fields['test_accuracy']}", style="title")
    return [title, keys_and_values("result", fields), Text(text="Recipe", style="title"), recipe(settings)]


def recipe(settings: Strict) -> Table:
    """Return all settings as a table."""
    return keys_and_values("setting", settings.model_dump(mode="json"))


def keys_and_values(title: str, fields: Mapping[str, Any]) -> Table:
    """Return a row per field; lists are joined by commas."""
    cells = {
        key: value if isinstance(value, str | int | float | None) else ", ".join(map(str, value))
        for key, value in fields.items()
    }
    return Table(columns=(title, ""), rows=tuple(cells.items()))


def card(arch: str, source: str, tables: Iterable[Block]) -> list[Block]:
    """Return the model card: the weights, their training data, how good they are, how to use them."""
    trained = (
        f"Trained by `vitruvius train` on {source or 'the data named below'}. The weights (model.safetensors)"
        " are those of the best validation epoch; the test images were read once, at the end."
    )
    return [
        Text(text=f"A Vision Transformer ({arch}) for image classification", style="title"),
        Text(text=trained),
        *tables,
        Text(text="Use", style="title"),
        Text(text="`vitruvius predict RUN IMAGE...` classifies images and shows where the model looks."),
    ]


def _lines(title: str, label: str, epochs: Sequence[Epoch], field: str, scale: int) -> Lines:
    """Plot a field of both sets; epochs without a value are left out, and curves without any."""
    series = []
    for name, part in (("training", "train"), ("validation", "val")):
        values = {epoch.epoch: getattr(epoch, f"{part}_{field}") for epoch in epochs}
        known = {epoch: scale * value for epoch, value in values.items() if value is not None}
        if known:
            series.append(Series(name=name, x=tuple(known), y=tuple(known.values())))
    return Lines(title=title, series=tuple(series), x_label="epoch", y_label=label)
