"""Curves and points with colours, marks and scales chosen: what matplotlib and plotly both draw.

The colours can be told apart by colour-blind eyes (Okabe and Ito 2008).
"""

from dataclasses import dataclass
from itertools import compress, cycle

from vitruvius.core.blocks import Lines, Scatter, Series

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f")
DASHES = ("solid", "dashed", "dashdot", "dotted")
"""Matplotlib's names: once all colours are used, the next curves are dashed."""
FEW_POINTS = 40  # points up to which a curve marks each of them


@dataclass(frozen=True)
class Axis:
    """The label of an axis, and whether its scale is logarithmic."""

    label: str
    log: bool
    whole: bool  # all values are whole numbers, such as epochs: no tick stands between them
    span: float = 0.0  # from the smallest value to the largest


@dataclass(frozen=True)
class Layer:
    """One curve with the band around it, or a set of points without a line."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    colour: str
    name: str = ""
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    dash: str = ""  # empty for points without a line
    marked: bool = True  # whether a curve marks its points
    point_names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plot:
    """Everything a plotting library needs to know."""

    title: str
    x: Axis
    y: Axis
    layers: list[Layer]


def describe(figure: Lines | Scatter) -> Plot:
    """Choose colours, dashes and scales; zeros and negative values are left out of a logarithmic axis."""
    if isinstance(figure, Scatter):
        groups = figure.groups or ("",) * len(figure.x)
        named = zip(dict.fromkeys(groups) or ("",), cycle(COLOURS), strict=False)
        layers = [_points(figure, groups, *look) for look in named]
    else:
        looks = zip(cycle(COLOURS), (dash for dash in cycle(DASHES) for _ in COLOURS), strict=False)
        layers = [_curve(series, *look) for series, look in zip(figure.series, looks, strict=False)]
    x = _axis(figure.x_label, figure.log_x, [value for layer in layers for value in layer.x])
    heights = [value for layer in layers for value in (*layer.y, *layer.low, *layer.high)]
    y = _axis(figure.y_label, figure.log_y, heights)
    return Plot(figure.title, x, y, layers)


def _points(figure: Scatter, groups: tuple[str, ...], name: str, colour: str) -> Layer:
    """Return the points of the group of that name."""
    is_in = [group == name for group in groups]

    def part(values: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(compress(values, is_in))

    bars = (part(figure.low), part(figure.high)) if figure.low and figure.high else ((), ())
    names = tuple(compress(figure.names, is_in))
    return Layer(part(figure.x), part(figure.y), colour, name, *bars, point_names=names)


def _axis(label: str, log: bool, values: list[float]) -> Axis:
    whole = all(float(value).is_integer() for value in values)
    span = max(values, default=0.0) - min(values, default=0.0)
    return Axis(label, log and any(value > 0 for value in values), whole, span)


def _curve(series: Series, colour: str, dash: str) -> Layer:
    band = (series.low, series.high) if series.low and series.high else ((), ())
    marked = len(series.x) <= FEW_POINTS
    return Layer(series.x, series.y, colour, series.name, *band, dash=dash, marked=marked)
