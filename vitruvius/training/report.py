"""The report of a training: curves, confusion matrix, tables, model card; pictures of a model's attention."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vitruvius.core import files
from vitruvius.core.blocks import Block, Heatmap, Lines, Panels, Pictures, Series, Table, Text
from vitruvius.core.config import Strict
from vitruvius.core.runs import RunFolder
from vitruvius.datasets import Dataset
from vitruvius.render import figures, page, text
from vitruvius.training import results
from vitruvius.training.recipe import ClassifierSettings
from vitruvius.training.results import Epoch, Result, TestScore

Grid = Sequence[Sequence[float]]
Pixel = tuple[float, ...]  # red, green and blue in 0..1


def write(
    folder: RunFolder, settings: ClassifierSettings, data: Dataset, result: Result, test: TestScore | None
) -> None:
    """Write report.html, the model card README.md and, if there is something to draw, the two pictures."""
    epochs = results.epochs(folder.records())
    drawn: dict[str, Panels | Heatmap | None] = {
        "curves.png": curves(epochs) if epochs else None,
        "confusion.png": confusion(data.classes, test.confusion) if test else None,
    }
    for name, figure in drawn.items():
        if figure is None:  # a picture of an earlier end would show other weights
            folder.path(name).unlink(missing_ok=True)
        else:
            figures.write_png(figure, folder.path(name))
    tables = facts(result, settings)
    said = [block for finding in result.findings for block in finding.view()]
    doctor = [Text(text="Findings of the doctor", style="title"), *said] if said else []
    blocks = [*tables, *doctor, *(figure for figure in drawn.values() if figure)]
    files.write(folder.path("report.html"), page.page(f"{settings.arch} on {data.name}", blocks))
    files.write(folder.path("README.md"), text.markdown(card(settings.arch, data.source, result, tables)))


def curves(epochs: Sequence[Epoch]) -> Panels:
    """Plot loss and accuracy of the training and the validation set against the epoch."""
    loss = _lines("Loss", "mean cross-entropy", epochs, "loss", 1)
    accuracy = _lines("Accuracy", "accuracy in %", epochs, "accuracy", 100)
    return Panels(title="Training", figures=(loss, accuracy))


def confusion(classes: Sequence[str], counts: Sequence[Sequence[int]]) -> Heatmap:
    """Plot how often test images of each class are classified as which, in percent of the true class."""
    rows = [[100 * count / max(1, sum(row)) for count in row] for row in counts]
    values, names = tuple(tuple(round(value, 1) for value in row) for row in rows), tuple(classes)
    title = "Test images by true and predicted class, in % of the true class"
    labels = {"x_label": "predicted", "y_label": "true"}
    return Heatmap(title=title, values=values, rows=names, columns=names, **labels)


def facts(result: Result, settings: ClassifierSettings) -> list[Block]:
    """Return the result, how the test images were used, and all settings."""
    fields = result.model_dump(mode="json", exclude={"findings", "baselines"})
    known = {key: value for key, value in fields.items() if "accuracy" in key and value is not None}
    fields |= {key: f"{value:.2%}" for key, value in known.items()}
    tested, chosen = fields["test_accuracy"], settings.model_dump(mode="json")
    if result.warmup_steps is not None and result.warmup_steps < settings.warmup:
        chosen["warmup"] = f"{result.warmup_steps} (of {settings.warmup}, which did not fit)"
    return [
        Text(text=f"Test accuracy {tested}" if tested else "Not tested", style="title"),
        Text(text=result.about_test),
        keys_and_values("result", fields),
        Text(text="Recipe", style="title"),
        keys_and_values("setting", chosen),
    ]


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


def card(arch: str, source: str, result: Result, tables: Iterable[Block]) -> list[Block]:
    """Return the model card: the weights, their training data, how good they are, how to use them."""
    trained = (
        f"Trained by `vitruvius train` on {source or 'the data named below'}. The weights (model.safetensors)"
        f" are {result.about_weights}."
    )
    return [
        Text(text=f"A Vision Transformer ({arch}) for image classification", style="title"),
        Text(text=trained),
        *tables,
        Text(text="Use", style="title"),
        Text(text="`vitruvius predict RUN IMAGE...` classifies images; `--overlay` shows where it looks."),
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


def attention_overlay(name: str, image: Sequence[Grid], heats: Sequence[tuple[str, Grid]]) -> Pictures:
    """Show an image (channels, rows, columns in 0..1) and beside it the image under each heat map."""
    colours = image if len(image) == 3 else [image[0]] * 3
    plain = [list(zip(*lines, strict=True)) for lines in zip(*colours, strict=True)]
    columns = ("image", *(title for title, _ in heats))
    pixels = (plain, *(_heated(plain, heat) for _, heat in heats))
    return Pictures(title=f"Where the model looks in {name}", rows=("",), columns=columns, pixels=(pixels,))


def attention_distance(values: Grid, side: int) -> Lines:
    """Plot the mean attention distance of each head against depth (Dosovitskiy et al. 2021, figure 7)."""
    series = []
    for head in range(max(map(len, values))):
        points = [(layer, row[head]) for layer, row in enumerate(values, 1) if math.isfinite(row[head])]
        x, y = zip(*points, strict=True)
        series.append(Series(name=f"head {head + 1}", x=x, y=y))
    title = f"Mean attention distance by depth (images of {side} pixels)"
    return Lines(title=title, series=tuple(series), x_label="layer", y_label="distance in pixels")


def position_similarity(similarity: Grid) -> Pictures:
    """Show, for every patch, a small map of how similar its position embedding is to that of each patch."""
    side = math.isqrt(len(similarity))
    small, numbers = [_signed(row, side) for row in similarity], range(1, side + 1)
    return Pictures(
        title="Cosine similarity of position embeddings: red alike, blue opposite",
        rows=tuple(f"row {number}" for number in numbers),
        columns=tuple(f"column {number}" for number in numbers),
        pixels=tuple(tuple(small[side * row : side * (row + 1)]) for row in range(side)),
    )


def _signed(row: Sequence[float], side: int) -> list[list[Pixel]]:
    """Map values in -1..1 to colours from blue over white to red."""
    bounded = [min(1.0, max(-1.0, value)) for value in row]
    shades: list[Pixel] = [
        (1.0, 1 - value, 1 - value) if value >= 0 else (1 + value, 1 + value, 1.0) for value in bounded
    ]
    return [shades[start : start + side] for start in range(0, side * side, side)]


def _heated(image: list[list[Pixel]], heat: Grid) -> list[list[Pixel]]:
    """Blend the image with its heat map: dark where attention is low, orange to yellow where it is high."""
    top = max(max(row) for row in heat) or 1.0
    rows, columns = len(image), len(image[0])

    def blend(pixel: Pixel, r: int, c: int) -> Pixel:
        warm = heat[r * len(heat) // rows][c * len(heat[0]) // columns] / top
        hot = (warm, warm * warm * 0.85, 0.1 * (1 - warm))
        return tuple(0.45 * shade + 0.55 * glow for shade, glow in zip(pixel, hot, strict=True))

    return [[blend(pixel, r, c) for c, pixel in enumerate(line)] for r, line in enumerate(image)]
