"""A figure as data -> a matplotlib figure, without pyplot's global state."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from vitruvius.core.blocks import Figure, Panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas
    from matplotlib.figure import FigureBase

INK = "#1b1f24"
"""The colour of text and axes; inline SVG puts the page's own text colour in its place."""
SETTINGS: Any = {  # matplotlib types its 300 keys one by one
    "font.size": 9,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlesize": 11,
    "figure.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": "#8b949e",
    "grid.alpha": 0.3,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "lines.linewidth": 1.8,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "savefig.bbox": "tight",
    "savefig.pad_inches": 0.12,
    "svg.fonttype": "none",
    "svg.hashsalt": "vitruvius",
}


@contextmanager
def painted(figure: Figure) -> "Iterator[Canvas]":
    """The drawn figure, under the settings that it must also be saved with."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Canvas

    from vitruvius.render import charts, diagrams

    logging.getLogger("matplotlib").setLevel(
        logging.ERROR
    )  # its remarks about font caches are no message of ours
    with rc_context(SETTINGS), warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message="Glyph .* missing"
        )  # a name in another script shows as boxes
        canvas = Canvas(layout="constrained", facecolor="none")
        canvas.set_size_inches(*_draw(figure, canvas, {**charts.DRAW, **diagrams.DRAW}))
        yield canvas


def _draw(figure: Figure, canvas: "FigureBase", draw: dict[type, Any]) -> tuple[float, float]:
    """Draw onto a canvas or a part of one; returns the inches it should have."""
    if not isinstance(figure, Panels):
        return draw[type(figure)](figure, canvas)
    columns = max(1, min(figure.columns, len(figure.figures)))
    rows = max(1, -(-len(figure.figures) // columns))
    places = canvas.subfigures(rows, columns, squeeze=False).flat
    sizes = [_draw(part, place, draw) for part, place in zip(figure.figures, places, strict=False)] or [
        (4.0, 1.0)
    ]
    canvas.suptitle(figure.title, x=0.01, ha="left")
    return columns * max(width for width, _ in sizes), rows * max(height for _, height in sizes) + 0.3
