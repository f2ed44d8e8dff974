"""What a person wants to know about a trained network, as blocks: the answer first, then how and on what.

The report of a run, its model card and the report of an evaluation are made of these. No torch.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from vitruvius.arch import cost
from vitruvius.arch.arch import Arch
from vitruvius.core.blocks import Block, Cell, Heatmap, Table, Text
from vitruvius.training import results
from vitruvius.training.results import TestScore, class_scores

LONGEST_LIST = 40
"""Classes that are listed by name."""
SHAPED = {
    "crop": "cropped to its central square and scaled",
    "pad": "scaled as a whole, between black bars",
    "squash": "stretched to a square",
}
"""What happens to a picture that is not square, by `--fit`."""
MOST_ROWS = 1000
"""Classes that are listed with their counts."""


def verdict(score: TestScore, what: str) -> str:
    """Say in one sentence how good a classifier is, and how sure that is.

    >>> verdict(TestScore(loss=0.1, accuracy=0.9, confusion=((9, 1), (1, 9))), "test images")
    '90.00 % of 20 test images are right (95 % interval 69.9 to 97.2 %).'
    """
    low, high = (100 * edge for edge in score.interval)
    accuracy = f"{100 * score.accuracy:.2f} % of {score.images:,} {what} are right"
    return f"{accuracy} (95 % interval {low:.1f} to {high:.1f} %)."


def class_table(classes: Sequence[str], score: TestScore) -> Table:
    """Show the score of every class, of very many classes those of the first ones."""
    shown = class_scores(classes, score)[:MOST_ROWS]
    is_cut = len(shown) < len(classes)
    title = f"The first {len(shown):,} of {len(classes):,} classes" if is_cut else "Classes"
    return results.class_table(shown, title)


def confusion(classes: Sequence[str], counts: Sequence[Sequence[int]], what: str = "Test images") -> Heatmap:
    """Plot which images are classified as what: their number, coloured by the share of the true class."""
    rows = [[100 * count / max(1, sum(row)) for count in row] for row in counts]
    values, names = tuple(tuple(round(value, 1) for value in row) for row in rows), tuple(classes)
    return Heatmap(
        title=f"{what} by true and predicted class: numbers, coloured in % of the true class",
        values=values,
        texts=tuple(tuple(map(str, row)) for row in counts),
        rows=names,
        columns=names,
        x_label="predicted",
        y_label="true",
    )


def top5(score: TestScore) -> list[Block]:
    """Say how often the right class is among the first five, where there are more than ten classes."""
    if score.top5 is None:
        return []
    return [Text(text=f"The right class is among the first five for {score.top5:.2%} of the images.")]


def network(arch: Arch) -> Table:
    """Show the sizes of a network."""
    price = cost.cost(arch)
    heads, dims, mlps = (sorted(set(values)) for values in zip(*arch.layers, strict=True))
    rows: list[tuple[Cell, ...]] = [
        ("image", f"{arch.channels} x {arch.image} x {arch.image}"),
        ("patch", f"{arch.patch} x {arch.patch}, {arch.patches} patches"),
        *([("stem", ", ".join(map(str, arch.stem)))] if arch.stem else []),
        ("width", arch.width),
        ("depth", arch.depth),
        ("heads", _span(heads)),
        ("head_dim", _span(dims)),
        ("mlp", _span(mlps)),
        ("parameters", price.params),
        ("multiply-adds per image", price.macs),
    ]
    return Table(title="Network", columns=("size", ""), rows=tuple(rows))


def preprocessing(
    arch: Arch, mean: Sequence[float], std: Sequence[float], classes: Sequence[str], fit: str
) -> list[Block]:
    """Say how an image becomes the input, and what the outputs stand for."""
    size = f"{arch.channels} x {arch.image} x {arch.image}"
    scale = "numbers as they are"
    if mean:
        means, deviations = (", ".join(f"{value:.4g}" for value in values) for values in (mean, std))
        scale = f"pixels 0..255 divided by 255, minus {means}, divided by {deviations}, per channel"
    names = ", ".join(classes[:LONGEST_LIST])
    more = f" and {len(classes) - LONGEST_LIST:,} more" if len(classes) > LONGEST_LIST else ""
    return [
        Text(text="Input and output", style="title"),
        Text(text=f"Input: {size}; {scale}. A picture of another shape is {SHAPED[fit]}."),
        Text(text=f"The {len(classes):,} classes, in the order of the outputs: {names}{more}."),
    ]


def use(run: str) -> list[Block]:
    """Say how the model is loaded, in five lines."""
    lines = (
        "from pathlib import Path",
        "from vitruvius.training import predictor",
        f"model = predictor.load(Path({str(Path(run))!r}))",
        'image = predictor.read_picture("IMAGE.png", model)',
        "print(next(predictor.classify(model, [image], top=3)))",
    )
    shell = f"`vitruvius predict {Path(run).name} IMAGE...` does the same on the command line"
    return [
        Text(text="Use", style="title"),
        Text(text="\n".join(lines), style="code"),
        Text(text=f"{shell}; `--overlay` shows where it looks, `vitruvius export` writes other formats."),
    ]


def _span(values: Iterable[int]) -> str:
    found = sorted(values)
    return str(found[0]) if len(found) == 1 else f"{found[0]} to {found[-1]}"
