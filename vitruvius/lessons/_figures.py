"""Figures of a lesson from plain numbers: curves over a common axis, matrices as colours, graphs."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, SupportsFloat

from vitruvius.core.blocks import Graph, Heatmap, Lines, Series

Numbers = Iterable[SupportsFloat]


def curves(
    title: str, named: Mapping[str, Numbers], x: Numbers, axes: tuple[str, str], log: str = ""
) -> Lines:
    """One curve per name; `axes` are the labels of x and y, `log` names those with a logarithmic scale.

    >>> curves("Growth", {"square": [1, 4]}, [1, 2], ("n", "work"), log="y").log_y
    True
    """
    shared = tuple(map(float, x))
    series = tuple(Series(name=name, x=shared, y=tuple(map(float, y))) for name, y in named.items())
    return Lines(
        title=title, series=series, x_label=axes[0], y_label=axes[1], log_x="x" in log, log_y="y" in log
    )


def heatmap(
    title: str,
    values: Iterable[Numbers],
    rows: str | Iterable[str] = (),
    columns: str | Iterable[str] = (),
    **options: Any,
) -> Heatmap:
    """A matrix as colours; rows and columns are named, or numbered behind one word.

    >>> heatmap("Weights", [[1, 0]], rows="q", columns="key ").columns
    ('key 1', 'key 2')
    """
    entries = floats(values)
    rows = numbered(rows, len(entries)) if isinstance(rows, str) else tuple(rows)
    columns = numbered(columns, len(entries[0])) if isinstance(columns, str) else tuple(columns)
    return Heatmap(title=title, values=entries, rows=rows, columns=columns, **options)


def circle(
    title: str, nodes: Iterable[str], edges: Iterable[tuple[int, int]], labels: Iterable[str] = ()
) -> Graph:
    """A graph whose nodes stand on a circle, the first at the top."""
    nodes = tuple(nodes)
    turns = [2 * math.pi * index / len(nodes) for index in range(len(nodes))]
    places = tuple((math.sin(turn), math.cos(turn)) for turn in turns)
    return Graph(title=title, nodes=nodes, places=places, edges=tuple(edges), labels=tuple(labels))


def numbered(word: str, count: int) -> tuple[str, ...]:
    """Names that count: numbered("token ", 2) is ("token 1", "token 2")."""
    return tuple(f"{word}{index}" for index in range(1, count + 1))


def floats(rows: Iterable[Numbers]) -> tuple[tuple[float, ...], ...]:
    """A matrix of any numbers (fractions, an array, a tensor) as a figure holds it."""
    return tuple(tuple(map(float, row)) for row in rows)
