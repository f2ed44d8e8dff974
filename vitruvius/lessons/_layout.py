"""Matrices whose tokens are rows, or columns: transposing turns the order of a product round."""

from collections.abc import Sequence
from typing import Any, Literal

from vitruvius.lessons import _board

Layout = Literal["rows", "columns"]
Rows = list[list[Any]]


def turned(layout: Layout, matrix: Sequence[Sequence[Any]]) -> Rows:
    """A matrix from its layout to rows, or back.

    >>> turned("columns", [[1, 2]])
    [[1], [2]]
    """
    return [list(row) for row in (matrix if layout == "rows" else zip(*matrix, strict=True))]


def times(layout: Layout, left: str, right: str) -> str:
    """A product of rows as it is written in a layout.

    >>> times("columns", "X", "W")
    'W X'
    """
    return f"{left} {right}" if layout == "rows" else f"{right} {left}"


def written(layout: Layout, matrix: Sequence[Sequence[Any]]) -> str:
    """A matrix of rows in LaTeX, in a layout."""
    return _board.matrix(turned(layout, matrix))
