"""Curves of a lesson over a common axis."""

from collections.abc import Iterable, Mapping
from typing import SupportsFloat

from vitruvius.core.blocks import Lines, Series

Numbers = Iterable[SupportsFloat]


def curves(title: str, named: Mapping[str, Numbers], x: Numbers, axes: tuple[str, str], log: str = "") -> Lines:
    """One curve per name; `axes` are the labels of x and y, `log` names those with a logarithmic scale.

    >>> curves("Growth", {"square": [1, 4]}, [1, 2], ("n", "work"), log="y").log_y
    True
    """
    shared = tuple(map(float, x))
    series = tuple(Series(name=name, x=shared, y=tuple(map(float, y))) for name, y in named.items())
    return Lines(title=title, series=series, x_label=axes[0], y_label=axes[1], log_x="x" in log, log_y="y" in log)
