"""Charts with axes, drawn by matplotlib: curves, points, bars, heat maps."""

import re
import textwrap
from itertools import cycle
from typing import TYPE_CHECKING, Any

from vitruvius.core.blocks import Bars, Heatmap, Lines, Scatter
from vitruvius.render import plots
from vitruvius.render.cells import cell
from vitruvius.render.formula import symbols

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis as MatplotlibAxis
    from matplotlib.figure import FigureBase

Size = tuple[float, float]  # width and height in inches: every drawing says how large it should be
FEW_BARS = 40  # bars up to which each has its value beside it
LONG_NAME = 12  # characters from which on the name of a column does not fit over its cell
LETTER = 0.08  # inches of a title's letter
WRITTEN = 16
"""Cells per side up to which a heat map has its numbers written in and every row and column named."""
NAMED_POINTS = 24


def lines(figure: Lines, canvas: "FigureBase") -> Size:
    """Curves with their bands; the legend stands beside the data."""
    plot = plots.describe(figure)
    axes = _axes(plot, canvas)
    for layer, marker in zip(plot.layers, cycle("os^Dv"), strict=False):
        mark = marker if layer.marked else ""
        axes.plot(layer.x, layer.y, color=layer.colour, linestyle=layer.dash, marker=mark, label=layer.name)
        if layer.low:
            axes.fill_between(layer.x, layer.low, layer.high, color=layer.colour, alpha=0.2, linewidth=0)
    if figure.y_range is not None:
        axes.set_ylim(*figure.y_range)
    if plot.x.whole and not plot.x.log:
        axes.locator_params(axis="x", integer=True)
    if len(plot.layers) > 1:
        canvas.legend(loc="outside right upper")
    return 7.2, 3.8


def scatter(figure: Scatter, canvas: "FigureBase") -> Size:
    """Points, up to 24 with their names; groups have a legend, and a name stands once, at its highest."""
    plot = plots.describe(figure)
    axes = _axes(plot, canvas)
    axes.margins(0.08)
    if not plot.x.log:
        axes.locator_params(axis="x", nbins=6)
    for layer, marker in zip(plot.layers, cycle("os^Dv"), strict=False):
        look: Any = {"s": 34, "alpha": 0.85, "edgecolors": "white", "linewidths": 0.6, "label": layer.name}
        axes.scatter(layer.x, layer.y, color=layer.colour, marker=marker, **look)
        if layer.low:
            axes.vlines(layer.x, layer.low, layer.high, color=layer.colour, alpha=0.5, linewidth=1.4)
    points = list(zip(figure.y, figure.x, figure.names, strict=False))
    if figure.groups:
        points = list({name: (y, x, name) for y, x, name in sorted(points)}.values())
        canvas.legend(loc="outside right upper")
    for y, x, name in points if len(points) <= NAMED_POINTS else ():
        axes.annotate(name, (x, y), xytext=(5, 4), textcoords="offset points", fontsize=7.5)
    return 6.4, 4.4


def _axes(plot: plots.Plot, canvas: "FigureBase") -> "Axes":
    """Axes with their labels, scales and grid."""
    from matplotlib.ticker import LogFormatter

    class PlainLogFormatter(LogFormatter):
        """The same ticks with plain numbers: mathematical notation is switched off."""

        def __call__(self, x: float, pos: int | None = None) -> str:
            return short(x) if super().__call__(x, pos) else ""

    axes = canvas.add_subplot(title=plot.title, xlabel=plot.x.label, ylabel=plot.y.label)
    scales = ((plot.x, axes.set_xscale, axes.xaxis), (plot.y, axes.set_yscale, axes.yaxis))
    for described, set_scale, axis in scales:
        if described.log:
            set_scale("log")
            axis.set_major_formatter(PlainLogFormatter())
            axis.set_minor_formatter(PlainLogFormatter())
        else:
            plain_ticks(axis)
    axes.grid(visible=True)
    return axes


def plain_ticks(axis: "MatplotlibAxis") -> None:
    """Write the ticks of a linear axis as those of a logarithmic one, unless two would look the same."""
    from matplotlib.ticker import ScalarFormatter

    class PlainFormatter(ScalarFormatter):
        """The same ticks with plain numbers, and then nothing at the end of the axis."""

        written = False

        def format_ticks(self, values: Any) -> list[str]:
            usual = super().format_ticks(values)
            plain = [short(float(f"{value:.12g}")) for value in values]
            self.written = len(set(plain)) == len(plain)
            return plain if self.written else usual

        def get_offset(self) -> str:
            return "" if self.written else super().get_offset()

    axis.set_major_formatter(PlainFormatter())


def short(value: float) -> str:
    """A number as the label of a tick.

    >>> short(0.01), short(1e-6), short(5000), short(20_000), short(-1e6), short(3e9), short(1e14)
    ('0.01', '1e-6', '5000', '20k', '-1M', '3G', '100T')
    """
    if abs(value) < 1e4:
        mantissa, _, exponent = f"{value:g}".partition("e")
        return f"{mantissa}e{int(exponent)}" if exponent else mantissa
    units = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
    size, suffix = next(unit for unit in units if abs(value) >= unit[0])
    return f"{value / size:g}{suffix}"


def bars(figure: Bars, canvas: "FigureBase") -> Size:
    """Named quantities as horizontal bars, so that long names fit, each with its value beside it."""
    count = len(figure.names)
    axes = canvas.add_subplot(title=figure.title, xlabel=figure.y_label)
    shown = axes.barh(range(count), figure.values, color=plots.COLOURS[0], height=0.7)
    axes.set_yticks(range(count), figure.names)
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.axvline(0, color="#8b949e", linewidth=0.8)
    axes.spines["left"].set_visible(False)
    if count <= FEW_BARS:
        axes.bar_label(shown, [cell(float(value)) for value in figure.values], padding=3, fontsize=8)
        axes.use_sticky_edges = min(figure.values, default=0) >= 0
        axes.margins(x=0.12)
    axes.grid(visible=True, axis="x")
    plain_ticks(axes.xaxis)
    return 7.2, min(1.1 + 0.32 * max(count, 1), 14)


def heatmap(figure: Heatmap, canvas: "FigureBase") -> Size:
    """A matrix as colours: from white where nothing is negative, else blue and red on both sides of zero."""
    import numpy as np

    values = np.array(figure.values, dtype=float, ndmin=2)
    height, width = values.shape
    size = _size(figure, height, width)
    title = textwrap.fill(figure.title, _letters(height, width))
    axes = canvas.add_subplot(title=title, xlabel=figure.x_label, ylabel=figure.y_label, anchor="W")
    _name_cells(axes, figure, height, width)
    if not values.size:
        return size
    peak = float(np.abs(values).max()) or 1.0
    lowest, colours = (-peak, "RdBu_r") if values.min() < 0 else (0.0, "Blues")
    written = max(height, width) <= WRITTEN
    # Many cells are one image inside an SVG: as single shapes they are large and show seams.
    look: Any = {"edgecolors": "white", "linewidth": 1.5} if written else {"rasterized": True}
    mesh = axes.pcolormesh(values, cmap=colours, vmin=lowest, vmax=peak, **look)
    axes.set_aspect("equal" if width <= 4 * height and height <= 4 * width else "auto")
    for spine in axes.spines.values():
        spine.set_visible(False)
    if figure.numbers and written:
        _write_numbers(axes, values, mesh, figure.texts)
    else:
        canvas.colorbar(mesh, ax=axes, shrink=0.8).outline.set_visible(False)
    return size


def _size(figure: Heatmap, height: int, width: int) -> Size:
    """Room for the numbers in the cells, the names beside and below them and the title above."""
    inches = _cell_inches(height, width)
    names = 0.07 * max(map(len, figure.rows), default=2)
    below = 0.04 * max(map(len, figure.columns), default=0) if _has_long_names(figure) else 0.0
    most = _letters(height, width)
    lines = len(textwrap.wrap(figure.title, most)) - 1
    across = max(width * inches, LETTER * most if lines > 0 else 0.0)
    return (
        min(max(across + names + 0.7, 2.2), 11.0),
        min(max(height * inches + below + 0.2 * max(lines, 0) + 1.1, 1.6), 11.0),
    )


def _cell_inches(height: int, width: int) -> float:
    side = max(height, width)
    return 0.62 if side <= WRITTEN else min(0.22, 6 / side)


def _letters(height: int, width: int) -> int:
    """Letters of a title in one line: as wide as the matrix, or a little wider than a small one.

    A title beyond that would count as part of the drawing, and push the cells together."""
    return max(36, int(width * _cell_inches(height, width) / LETTER) + 12)


def _has_long_names(figure: Heatmap) -> bool:
    """Whether names of columns are so long that they would push the cells together."""
    return any(len(name) > LONG_NAME for name in figure.columns)


def _name_cells(axes: "Axes", figure: Heatmap, height: int, width: int) -> None:
    """Names in the middle of rows and columns; the first row is on top, as matrices are written."""
    axes.invert_yaxis()
    axes.tick_params(length=0)
    axes.set_xticks(*_names(figure.columns, width))
    axes.set_yticks(*_names(figure.rows, height))
    if _has_long_names(figure):  # they end at their cells and so reach to the left, where rows have theirs
        for label in axes.get_xticklabels():
            label.set(rotation=30, ha="right", rotation_mode="anchor")
    elif width > 3 and any(len(name) > 6 for name in figure.columns):
        axes.tick_params(axis="x", rotation=30)


def _names(given: tuple[str, ...], count: int) -> tuple[list[float], tuple[str, ...]]:
    """Positions and names of ticks: without names counted from 1, and about ten where there are many."""
    every = 1 if count <= WRITTEN else -(-count // 10)
    names = tuple(map(with_subscripts, given)) or tuple(map(str, range(1, count + 1)))
    return [index + 0.5 for index in range(0, count, every)], names[:count:every]


def _write_numbers(axes: "Axes", values: Any, mesh: Any, texts: tuple[tuple[str, ...], ...]) -> None:
    """Each value, or its text, in its cell, dark on light and light on dark."""
    import numpy as np

    for (row, column), value in np.ndenumerate(values):
        red, green, blue, _ = mesh.cmap(mesh.norm(value))
        colour = "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.55 else "black"
        text = texts[row][column] if texts else f"{value:.3g}" if value else "0"
        look: Any = {"ha": "center", "va": "center", "fontsize": 8.5 if len(text) <= 5 else 7}
        axes.text(column + 0.5, row + 0.5, text, color=colour, **look)


def with_subscripts(name: str) -> str:
    """A name with its indices as subscripts.

    >>> with_subscripts("h_10 = (1, -1)")
    'h₁₀ = (1, -1)'
    """
    return re.sub(r"_(\d+)", lambda found: "".join(symbols.SUBSCRIPT[digit] for digit in found[1]), name)


DRAW: dict[type, Any] = {Lines: lines, Bars: bars, Scatter: scatter, Heatmap: heatmap}
