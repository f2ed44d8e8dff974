"""The report of a training: verdict, curves, confusion, mistakes, tables, card; pictures of attention."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from vitruvius.arch.arch import Arch
from vitruvius.core import files
from vitruvius.core.blocks import Block, Cell, Figure, Lines, Panels, Pictures, Series, Table, Text
from vitruvius.core.config import Strict
from vitruvius.core.runs import RunFolder
from vitruvius.datasets import Dataset
from vitruvius.render import figures, page, text
from vitruvius.training import card, results
from vitruvius.training.mistakes import Shown
from vitruvius.training.recipe import ClassifierSettings
from vitruvius.training.results import Epoch, Evaluation, RangeTest, Result, TestScore

Grid = Sequence[Sequence[float]]
Pixel = tuple[float, ...]  # red, green and blue in 0..1


class Trained(NamedTuple):
    """What a training leaves: its settings, data, network, result and, if it was tested, its score."""

    settings: ClassifierSettings
    data: Dataset
    arch: Arch
    result: Result
    test: TestScore | None
    wrong: Sequence[Shown] = ()
    """The most confident mistakes among the test images."""


def write(folder: RunFolder, run: Trained) -> None:
    """Write report.html, the model card README.md and, if there is something to draw, the pictures."""
    epochs, test, data = results.epochs(folder.records()), run.test, run.data
    drawn = {
        "curves.png": curves(epochs) if epochs else None,
        "confusion.png": card.confusion(data.classes, test.confusion) if test and test.confusion else None,
        "mistakes.png": mistakes(run.wrong) if run.wrong else None,
    }
    _write_pictures(folder, drawn)
    known = {name: figure for name, figure in drawn.items() if figure}
    answer = answers(run)
    blocks = [*answer, *known.values(), *details(run)]
    files.write(folder.path("report.html"), page.page(f"{run.settings.arch} on {data.name}", blocks))
    about = [*model_card(run.settings.arch, data.source, run.result), *answer, *known.values(), *details(run)]
    files.write(folder.path("README.md"), text.markdown(about, tuple(known)))


def write_evaluation(
    folder: RunFolder, found: Evaluation, score: TestScore, arch: Arch, wrong: Sequence[Shown]
) -> None:
    """Write report.html and the pictures of a network on other data."""
    names = [one.name for one in found.classes]
    drawn = {
        "confusion.png": card.confusion(names, score.confusion, "Images") if score.confusion else None,
        "mistakes.png": mistakes(wrong) if wrong else None,
    }
    _write_pictures(folder, drawn)
    told = [Text(text=note) for note in found.notes]
    figures_shown = [figure for figure in drawn.values() if figure]
    blocks = [Text(text=found.verdict, style="title"), *told, *card.top5(score), *figures_shown]
    blocks += [card.class_table(names, score), card.network(arch)]
    files.write(folder.path("report.html"), page.page(f"{found.model} on {found.data}", blocks))


def answers(run: Trained) -> list[Block]:
    """Say first how good the network is, against what, and how often the test images were read."""
    result, test = run.result, run.test
    said = card.verdict(test, "test images") if test else "Not tested"
    found: list[Block] = [Text(text=said, style="title")]
    if result.against_baselines:
        found.append(Text(text=f"The network is {result.against_baselines}."))
    found.append(Text(text=result.about_test))
    found += card.top5(test) if test else []
    if result.findings:
        found.append(Text(text="Findings of the doctor", style="title"))
    return found + [block for finding in result.findings for block in finding.view()]


def details(run: Trained) -> list[Block]:
    """Show classes, network, input and output, how to use it, and every number and setting."""
    data, settings = run.data, run.settings
    return [
        *([card.class_table(data.classes, run.test)] if run.test else []),
        card.network(run.arch),
        *card.preprocessing(run.arch, data.mean, data.std, data.classes, data.fit),
        *card.use(run.result.run),
        *facts(run.result, settings),
    ]


def _write_pictures(folder: RunFolder, drawn: Mapping[str, Figure | None]) -> None:
    for name, figure in drawn.items():
        if figure is None:  # a picture of an earlier end would show other weights
            folder.path(name).unlink(missing_ok=True)
        else:
            figures.write_png(figure, folder.path(name))


def write_picture(figure: Figure, path: Path) -> None:
    """Draw a figure into a PNG file."""
    figures.write_png(figure, path)


def write_range_test(folder: RunFolder, test: RangeTest) -> None:
    """Write lr_range.png and lr_range.json: the losses at rising learning rates, and the rate chosen."""
    files.write_json(folder.path("lr_range.json"), test.model_dump(mode="json"))
    figures.write_png(range_test(test), folder.path("lr_range.png"))


def range_test(test: RangeTest) -> Lines:
    """Plot the loss against the learning rate, and the rate that was chosen."""
    found = (
        Series(name="loss", x=test.rates, y=test.losses),
        Series(name="smoothed", x=test.rates, y=tuple(test.smoothed)),
        Series(name=f"chosen: {test.chosen:g}", x=(test.chosen,) * 2, y=(min(test.losses), max(test.losses))),
    )
    labels = {"x_label": "learning rate", "y_label": "mean cross-entropy of a batch"}
    return Lines(title="Range test of the learning rate", series=found, **labels, log_x=True)


def curves(epochs: Sequence[Epoch]) -> Panels:
    """Plot loss and accuracy of the training and the validation set against the epoch."""
    loss = _lines("Loss", "mean cross-entropy", epochs, "loss", 1)
    accuracy = _lines("Accuracy", "accuracy in %", epochs, "accuracy", 100)
    return Panels(title="Training", figures=(loss, accuracy))


def mistakes(wrong: Sequence[Shown]) -> Pictures:
    """Show the most confident mistakes, and below each the same image under what the network attends to."""
    names, plain, heated = [], [], []
    for mistake, image, heat in wrong:
        pixels = _colours(image)
        names.append(f"{mistake.true}\nsaid: {mistake.predicted}\n{mistake.probability:.0%}")
        plain.append(pixels)
        heated.append(_heated(pixels, heat))
    return Pictures(
        title="The most confident mistakes: the class, and what the network says with which probability",
        rows=("image", "attention"),
        columns=tuple(names),
        pixels=(tuple(plain), tuple(heated)),
    )


def facts(result: Result, settings: ClassifierSettings) -> list[Block]:
    """Return every number of the result, and all settings."""
    fields = result.model_dump(mode="json", exclude={"findings", "baselines", "against_baselines"})
    known = {key: value for key, value in fields.items() if "accuracy" in key and value is not None}
    fields |= {key: f"{value:.2%}" for key, value in known.items()}
    chosen = settings.model_dump(mode="json")
    if result.warmup_steps is not None and result.warmup_steps < settings.warmup:
        chosen["warmup"] = f"{result.warmup_steps} (of {settings.warmup}, which did not fit)"
    return [
        Text(text="Result", style="title"),
        keys_and_values("result", fields),
        Text(text="Recipe", style="title"),
        keys_and_values("setting", chosen),
    ]


def recipe(settings: Strict) -> Table:
    """Return all settings as a table."""
    return keys_and_values("setting", settings.model_dump(mode="json"))


def keys_and_values(title: str, fields: Mapping[str, Any]) -> Table:
    """Return a row per field: yes or no, numbers, lists joined by commas, sentences by semicolons."""
    return Table(columns=(title, ""), rows=tuple((key, _cell(value)) for key, value in fields.items()))


def _cell(value: Any) -> Cell:
    """Return a value as a person reads it.

    >>> _cell(True), _cell([0.25, 1.0]), _cell(["no flips, no crops", "10 epochs"])
    ('yes', '0.25, 1', 'no flips, no crops; 10 epochs')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str | int | float | None):
        return value
    words = [f"{one:.4g}" if isinstance(one, float) else str(one) for one in value]
    return ("; " if any(", " in word for word in words) else ", ").join(words)


def model_card(arch: str, source: str, result: Result) -> list[Block]:
    """Return the head of the model card: what the weights are, and what they were trained on."""
    trained = (
        f"Trained by `vitruvius train` on {source or 'the data named below'}. The weights (model.safetensors)"
        f" are {result.about_weights}."
    )
    return [
        Text(text=f"A Vision Transformer ({arch}) for image classification", style="title"),
        Text(text=trained),
    ]


def _lines(title: str, label: str, epochs: Sequence[Epoch], field: str, scale: int) -> Lines:
    """Plot a field of both sets; epochs without a value are left out, and curves without any."""
    series = []
    for name, part in (("training", "train"), ("validation", "val")):
        values = {epoch.epoch: getattr(epoch, f"{part}_{field}") for epoch in epochs}
        known = {epoch: scale * value for epoch, value in values.items() if value is not None}
        if known:
            series.append(Series(name=name, x=tuple(known), y=tuple(known.values())))
    drawn = [value for one in series for value in one.y]
    shown = _percent_range(drawn) if scale == 100 else (0.0, 1.05 * max(drawn, default=1.0) or 1.0)
    axes = {"x_label": "epoch", "y_label": label}
    return Lines(title=title, series=tuple(series), y_range=shown, **axes)


def _percent_range(values: Sequence[float]) -> tuple[float, float]:
    """Return whole tens around percentages, at least ten apart, so that noise does not fill the picture.

    >>> _percent_range([98.2, 98.4]), _percent_range([31.0, 88.0]), _percent_range([100.0])
    ((90.0, 100.5), (30.0, 90.5), (90.0, 100.5))
    """
    low, high = min(values, default=0.0), max(values, default=100.0)
    low, high = 10.0 * min(9, math.floor(low / 10)), 10.0 * math.ceil(high / 10)
    return low, max(high, low + 10) + 0.5


def _colours(image: Sequence[Grid]) -> list[list[Pixel]]:
    """Turn channels of rows into rows of red, green and blue; other channels than three show the first."""
    colours = image if len(image) == 3 else [image[0]] * 3
    return [list(zip(*lines, strict=True)) for lines in zip(*colours, strict=True)]


def attention_overlay(name: str, image: Sequence[Grid], heats: Sequence[tuple[str, Grid]]) -> Pictures:
    """Show an image (channels, rows, columns in 0..1) and beside it the image under each heat map."""
    plain = _colours(image)
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
