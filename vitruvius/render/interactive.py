"""Points and curves that answer to the pointer, drawn by plotly with its script in the page."""

import json
import re
from collections.abc import Iterator
from typing import Any

from vitruvius.core.blocks import Lines, Scatter
from vitruvius.render import cells, figures, plots

GREY = "#7d8590"  # readable on a light and on a dark page
CLEAR = "rgba(0,0,0,0)"
LONGEST_HOVER = 100  # letters of a name beside the pointer
FEW_TICKS = 12  # whole numbers up to which each has its tick
MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;"})
"""Plotly takes tags and entities in a text for markup, links included."""
MAP_STYLE = re.compile(r"""(createElement\("style"\);(\w+)\.id="\w+",\2\.textContent=)'[^'\\]*'""")
"""Where plotly writes the styles of maps into any page; ours hold no map, and their policy no such styles."""
SETTINGS = {"displaylogo": False, "responsive": True, "showSendToCloud": False}
"""No button sends a plot to plotly's own site: nothing leaves a page."""
DASHES = {"solid": "solid", "dashed": "dash", "dashdot": "dashdot", "dotted": "dot"}


def script() -> str:
    """Plotly's whole script; a page needs it once, before its plots."""
    from plotly.offline import get_plotlyjs

    return MAP_STYLE.sub(r"\1''", str(get_plotlyjs()))


def element(figure: Lines | Scatter, name: str) -> str:
    """A figure as an interactive HTML element with that id."""
    from plotly import graph_objects

    drawn = graph_objects.Figure(**drawing(figure)).to_json().replace("<", r"\u003c")
    plot = f'Plotly.newPlot("{name}", drawn.data, drawn.layout, {json.dumps(SETTINGS)});'
    return f'<div id="{name}"></div>\n<script>{{ const drawn = {drawn}; {plot} }}</script>'


def drawing(figure: Lines | Scatter) -> dict[str, Any]:
    """What plotly's script needs to draw a figure: its data and its layout, as JSON holds them."""
    plot = plots.describe(figure)
    layout = {
        "title": {"text": _inert(plot.title), "x": 0.01},
        "xaxis": _axis(plot.x),
        "yaxis": _axis(plot.y) | _range(figure),
        "font": {"color": GREY, "family": "system-ui, sans-serif"},
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "margin": {"l": 70, "r": 20, "t": 50, "b": 60},
        "modebar": {"bgcolor": CLEAR, "color": GREY},
    }
    return {"data": [trace for layer in plot.layers for trace in _traces(layer)], "layout": layout}


def _inert(text: str, most: int = figures.LONGEST_TITLE) -> str:
    """Return a text that plotly shows as it is, cut in the middle where it is long.

    >>> _inert("<b>x</b> & y"), _inert("a" * 100, 9)
    ('&lt;b>x&lt;/b> &amp; y', 'aaaa…aaaa')
    """
    return cells.shortened(text, most).translate(MARKUP)


def _range(figure: Lines | Scatter) -> dict[str, Any]:
    shown = figure.y_range if isinstance(figure, Lines) else None
    return {} if shown is None else {"range": list(shown)}


def _axis(axis: plots.Axis) -> dict[str, Any]:
    look = {"gridcolor": "rgba(125,133,144,0.3)", "zeroline": False, "linecolor": GREY}
    scale = {"type": "log"} if axis.log else {}
    ticks = {"dtick": 1} if axis.whole and axis.span <= FEW_TICKS and not axis.log else {}
    return {"title": {"text": _inert(axis.label)}, "exponentformat": "power", **look, **scale, **ticks}


def _bars(layer: plots.Layer) -> dict[str, Any]:
    """The intervals around points, as distances from them."""
    above = [high - y for high, y in zip(layer.high, layer.y, strict=True)]
    below = [y - low for low, y in zip(layer.low, layer.y, strict=True)]
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": below, "thickness": 1.2}


def _traces(layer: plots.Layer) -> Iterator[dict[str, Any]]:
    """A set of points, or a curve after the band around it."""
    name = _inert(layer.name, figures.LONGEST_NAME)
    trace = {"type": "scatter", "name": name, "x": list(layer.x), "y": list(layer.y)}
    if not layer.dash:
        marker = {"size": 9, "color": layer.colour, "line": {"width": 1, "color": "white"}}
        bars = {"error_y": _bars(layer)} if layer.low else {}
        yield {
            **trace,
            "mode": "markers",
            "text": [_inert(name, LONGEST_HOVER) for name in layer.point_names],
            "marker": marker,
            **bars,
        }
        return
    if layer.low:
        around = {"x": [*layer.x, *reversed(layer.x)], "y": [*layer.high, *reversed(layer.low)]}
        look = {"fill": "toself", "fillcolor": layer.colour, "opacity": 0.2, "line": {"width": 0}}
        yield {**trace, **around, **look, "mode": "lines", "hoverinfo": "skip", "showlegend": False}
    line = {"color": layer.colour, "width": 2.5, "dash": DASHES[layer.dash]}
    # A curve of one point, such as a first epoch, is nothing but its mark.
    marks = {"mode": "lines+markers", "marker": {"size": 6}} if layer.marked else {"mode": "lines"}
    yield {**trace, **marks, "line": line}
