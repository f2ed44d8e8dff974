"""Text, formulas, tables and figures as data; `render` draws them on terminals, in pages and as pictures."""

from collections.abc import Sequence
from typing import Literal

from vitruvius.core.config import Strict

Cell = str | int | float | None


class Text(Strict):
    """A sentence or a paragraph."""

    text: str
    style: Literal["plain", "title", "note", "warning", "error", "good", "code"] = "plain"


class Formula(Strict):
    """A formula in LaTeX, without the dollar signs."""

    latex: str


class Table(Strict):
    """Rows under named columns; floats are shown with four significant digits."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    note: str = ""


class Heatmap(Strict):
    """A matrix as colours."""

    kind: Literal["heatmap"] = "heatmap"
    title: str
    values: tuple[tuple[float, ...], ...]
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    x_label: str = ""
    y_label: str = ""
    numbers: bool = True
    """Write each value into its cell."""
    texts: tuple[tuple[str, ...], ...] = ()
    """What is written into the cells instead of the values."""


class Series(Strict):
    """One named curve, with an optional band around it."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


class Lines(Strict):
    """Curves over a common axis."""

    kind: Literal["lines"] = "lines"
    title: str
    series: tuple[Series, ...]
    x_label: str
    y_label: str
    log_x: bool = False
    log_y: bool = False
    y_range: tuple[float, float] | None = None
    """The lowest and highest value that the axis shows; default: those of the curves."""


class Bars(Strict):
    """Named quantities side by side."""

    kind: Literal["bars"] = "bars"
    title: str
    names: tuple[str, ...]
    values: tuple[float, ...]
    y_label: str


class Scatter(Strict):
    """Named points; an interactive page shows the name of the point under the pointer."""

    kind: Literal["scatter"] = "scatter"
    title: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    names: tuple[str, ...]
    x_label: str
    y_label: str
    log_x: bool = False
    log_y: bool = False
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    """The ends of an interval around each y, or none."""
    groups: tuple[str, ...] = ()
    """The group of each point, or none: a group has a colour, and its name stands in the legend."""


class TransportPlan(Strict):
    """A transport plan: `masses[i][j]` goes from supply point i to demand point j."""

    kind: Literal["plan"] = "plan"
    title: str
    supply: tuple[tuple[float, ...], ...]
    demand: tuple[tuple[float, ...], ...]
    masses: tuple[tuple[float, ...], ...]


class Graph(Strict):
    """A directed graph with labelled nodes at given coordinates."""

    kind: Literal["graph"] = "graph"
    title: str
    nodes: tuple[str, ...]
    places: tuple[tuple[float, float], ...]
    edges: tuple[tuple[int, int], ...]
    labels: tuple[str, ...] = ()
    """One per edge, or none."""


class Pictures(Strict):
    """A grid of small pictures, values in 0..1: grey (rows of pixels) or colour (rows of RGB triples)."""

    kind: Literal["pictures"] = "pictures"
    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    pixels: tuple[tuple[Sequence[Sequence[float | Sequence[float]]], ...], ...]


Chart = Heatmap | Lines | Bars | Scatter | TransportPlan | Graph | Pictures


class Panels(Strict):
    """Several figures as one picture, in rows of `columns`."""

    kind: Literal["panels"] = "panels"
    title: str
    figures: tuple[Chart, ...]
    columns: int = 2


Figure = Chart | Panels
Block = Text | Formula | Table | Figure
