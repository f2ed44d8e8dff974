"""Points and curves that answer to the pointer, by plotly, with its script in the page."""

from collections.abc import Iterator
from itertools import cycle
from typing import Any

from vitruvius.core.blocks import Lines, Scatter
from vitruvius.render.charts import COLOURS

GREY = "#7d8590"
"""Readable on light and on dark paper."""


def script() -> str:
    """The element that holds plotly's whole script; a page needs it once, before its plots."""
    from plotly.offline import get_plotlyjs

    return f"<script>{get_plotlyjs()}</script>"


def plot(figure: Lines | Scatter, name: str) -> str:
    """A figure as an interactive element with that id."""
    from plotly import graph_objects, io

    traces = [_points(figure)] if isinstance(figure, Scatter) else list(_curves(figure))
    axis = {
        "gridcolor": "rgba(125,133,144,0.3)",
        "zeroline": False,
        "linecolor": GREY,
        "exponentformat": "power",
    }
    layout = {
        "title": {"text": figure.title, "x": 0.01},
        "xaxis": {"title": figure.x_label, **axis, **_scale(figure, "log_x")},
        "yaxis": {"title": figure.y_label, **axis, **_scale(figure, "log_y")},
        "font": {"color": GREY, "family": "system-ui, sans-serif"},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 70, "r": 20, "t": 50, "b": 60},
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": GREY},
        "colorway": list(COLOURS),
    }
    shown = graph_objects.Figure(data=traces, layout=layout)
    settings = {"displaylogo": False, "responsive": True}
    return io.to_html(shown, include_plotlyjs=False, full_html=False, div_id=name, config=settings)


def _scale(figure: Any, field: str) -> dict[str, str]:
    return {"type": "log"} if getattr(figure, field, False) else {}


def _points(figure: Scatter) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": list(figure.x),
        "y": list(figure.y),
        "text": list(figure.names),
        "marker": {"size": 9, "line": {"width": 1, "color": "white"}},
    }


def _curves(figure: Lines) -> Iterator[dict[str, Any]]:
    """Each curve, after the band around it."""
    for series, colour in zip(figure.series, cycle(COLOURS), strict=False):
        common = {"type": "scatter", "mode": "lines", "name": series.name}
        if series.low and series.high:
            around = {"x": [*series.x, *reversed(series.x)], "y": [*series.high, *reversed(series.low)]}
            look = {"fill": "toself", "fillcolor": colour, "opacity": 0.2, "line": {"width": 0}}
            yield {**common, **around, **look, "hoverinfo": "skip", "showlegend": False}
        yield {**common, "x": list(series.x), "y": list(series.y), "line": {"color": colour, "width": 2.5}}
