"""Where a model looks: heat over an image, distance by depth, positions by similarity."""

import math
from collections.abc import Sequence

from vitruvius.core.blocks import Lines, Pictures, Series

Grid = Sequence[Sequence[float]]
Pixel = tuple[float, float, float]


def overlay(name: str, image: Sequence[Grid], heats: Sequence[tuple[str, Grid]]) -> Pictures:
    """An image (channels, rows, columns in 0..1) beside itself under the heat of each map."""
    plain = [
        [_colour(channels) for channels in zip(*lines, strict=True)] for lines in zip(*image, strict=True)
    ]
    pictures = [plain, *(_heated(plain, heat) for _, heat in heats)]
    return Pictures(
        title=f"Where the model looks in {name}",
        rows=("",),
        columns=("image", *(title for title, _ in heats)),
        pixels=(tuple(pictures),),
    )


def distance(values: Grid, side: int) -> Lines:
    """Mean attention distance of each head against depth (Dosovitskiy et al. 2021, figure 7)."""
    heads = range(max(map(len, values)))
    series = []
    for head in heads:
        points = [(layer, row[head]) for layer, row in enumerate(values, 1) if math.isfinite(row[head])]
        x, y = zip(*points, strict=True)
        series.append(Series(name=f"head {head + 1}", x=x, y=y))
    title = f"Mean attention distance by depth (images of {side} pixels)"
    return Lines(title=title, series=tuple(series), x_label="layer", y_label="distance in pixels")


def positions(similarity: Grid) -> Pictures:
    """For every patch, how similar its position is to that of each other patch: a map of small maps."""
    side = math.isqrt(len(similarity))
    places = range(side)
    small = [_signed(similarity[place], side) for place in range(side * side)]
    return Pictures(
        title="Cosine similarity of position embeddings: red alike, blue opposite",
        rows=tuple(f"row {place + 1}" for place in places),
        columns=tuple(f"column {place + 1}" for place in places),
        pixels=tuple(tuple(small[side * row : side * (row + 1)]) for row in places),
    )


def _signed(row: Sequence[float], side: int) -> list[list[Pixel]]:
    """Values in -1..1 as colours from blue over white to red."""
    bounded = [min(1.0, max(-1.0, value)) for value in row]
    shades = [(1.0, 1 - value, 1 - value) if value >= 0 else (1 + value, 1 + value, 1.0) for value in bounded]
    return [shades[start : start + side] for start in range(0, side * side, side)]


def _colour(channels: Sequence[float]) -> Pixel:
    red, green, blue = channels if len(channels) == 3 else (channels[0],) * 3
    return red, green, blue


def _heated(image: list[list[Pixel]], heat: Grid) -> list[list[Pixel]]:
    """The image under a layer of heat: dark where the model looks little, orange to yellow where it looks most."""
    top = max(max(row) for row in heat) or 1.0
    rows, columns = len(image), len(image[0])
    return [
        [
            _blend(image[r][c], heat[r * len(heat) // rows][c * len(heat[0]) // columns] / top)
            for c in range(columns)
        ]
        for r in range(rows)
    ]


def _blend(pixel: Pixel, heat: float) -> Pixel:
    hot = (heat, heat * heat * 0.85, 0.1 * (1 - heat))
    red, green, blue = (0.45 * shade + 0.55 * glow for shade, glow in zip(pixel, hot, strict=True))
    return red, green, blue
