"""Pictures of attention: heat maps over an image, attention distance by depth, similarity of positions."""

import math
from collections.abc import Sequence

from vitruvius.core.blocks import Lines, Pictures, Series

Grid = Sequence[Sequence[float]]
Pixel = tuple[float, ...]
"""Red, green and blue in 0..1."""


def overlay(name: str, image: Sequence[Grid], heats: Sequence[tuple[str, Grid]]) -> Pictures:
    """Show an image (channels, rows, columns in 0..1) and beside it the image under each heat map."""
    colours = image if len(image) == 3 else [image[0]] * 3
    plain = [list(zip(*lines, strict=True)) for lines in zip(*colours, strict=True)]
    columns = ("image", *(title for title, _ in heats))
    pixels = (plain, *(_heated(plain, heat) for _, heat in heats))
    return Pictures(title=f"Where the model looks in {name}", rows=("",), columns=columns, pixels=(pixels,))


def distance(values: Grid, side: int) -> Lines:
    """Plot the mean attention distance of each head against depth (Dosovitskiy et al. 2021, figure 7)."""
    series = []
    for head in range(max(map(len, values))):
        points = [(layer, row[head]) for layer, row in enumerate(values, 1) if math.isfinite(row[head])]
        x, y = zip(*points, strict=True)
        series.append(Series(name=f"head {head + 1}", x=x, y=y))
    title = f"Mean attention distance by depth (images of {side} pixels)"
    return Lines(title=title, series=tuple(series), x_label="layer", y_label="distance in pixels")


def positions(similarity: Grid) -> Pictures:
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
    shades = [(1.0, 1 - value, 1 - value) if value >= 0 else (1 + value, 1 + value, 1.0) for value in bounded]
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
