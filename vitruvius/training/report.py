"""What a training looks like: curves, confusion, facts and the model card, from records and results alone."""

from collections.abc import Iterable, Sequence
from typing import Any

from vitruvius.core.blocks import Block, Heatmap, Lines, Panels, Series, Table, Text


def curves(records: Iterable[dict[str, Any]]) -> Panels:
    """Loss and accuracy of the training and the validation set against the epoch."""
    epochs = [record for record in records if record["kind"] == "epoch"]
    return Panels(
        title="Training",
        figures=(
            _lines(epochs, "Loss", "mean cross-entropy", "loss", 1.0),
            _lines(epochs, "Accuracy", "accuracy in %", "accuracy", 100.0),
        ),
    )


def confusion(classes: Sequence[str], counts: Sequence[Sequence[int]]) -> Heatmap:
    """Which classes of the test images are taken for which, in percent of the true class."""
    rows = [[100 * count / max(1, sum(row)) for count in row] for row in counts]
    return Heatmap(
        title="Test images by true and predicted class, in % of the true class",
        values=tuple(tuple(round(value, 1) for value in row) for row in rows),
        rows=tuple(classes),
        columns=tuple(classes),
        x_label="predicted",
        y_label="true",
    )


def facts(result: dict[str, Any], config: dict[str, Any]) -> list[Block]:
    """The result and everything that was asked, as two tables."""
    accuracies = {
        key: f"{value:.2%}" for key, value in result.items() if "accuracy" in key and value is not None
    }
    outcome = {**result, **accuracies}
    return [
        Text(text=f"Test accuracy {accuracies['test_accuracy']}", style="title"),
        Table(columns=("result", ""), rows=tuple((key, _cell(value)) for key, value in outcome.items())),
        Text(text="Recipe", style="title"),
        Table(columns=("setting", ""), rows=tuple((key, _cell(value)) for key, value in config.items())),
    ]


def card(arch: str, source: str, shown: Iterable[Block]) -> list[Block]:
    """The model card: what the weights are, what they were trained on, how well they do, how to use them."""
    return [
        Text(text=f"A Vision Transformer ({arch}) for image classification", style="title"),
        Text(
            text=f"Trained by `vitruvius train` on {source or 'the data named below'}. The weights (model.safetensors) "
            "are those of the best validation epoch; the test images were read once, at the end."
        ),
        *shown,
        Text(text="Use", style="title"),
        Text(text="`vitruvius predict RUN IMAGE...` classifies images and shows where the model looks."),
    ]


def _lines(epochs: list[dict[str, Any]], title: str, label: str, key: str, scale: float) -> Lines:
    series = []
    for name, field in (("training", f"train_{key}"), ("validation", f"val_{key}")):
        points = [(record["epoch"], scale * record[field]) for record in epochs if record[field] is not None]
        if points:
            x, y = zip(*points, strict=True)
            series.append(Series(name=name, x=x, y=y))
    return Lines(title=title, series=tuple(series), x_label="epoch", y_label=label)


def _cell(value: Any) -> str | int | float | None:
    return value if isinstance(value, str | int | float | None) else ", ".join(map(str, value))
