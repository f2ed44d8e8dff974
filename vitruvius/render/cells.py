"""The cells of a table as text, which columns are set flush right, and which are not broken into lines."""

from vitruvius.core.blocks import Cell, Table
from vitruvius.core.visible import visible

SHORT = 24
"""Characters up to which a cell stands on one line: a name, an interval, a share."""


def cell(value: Cell) -> str:
    """A table cell as text: four significant digits, thousands separated by commas, empty for None.

    >>> cell(892938), cell(0.123456), cell(12345.678), cell(None), cell("x")
    ('892,938', '0.1235', '12,346', '', 'x')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"
    return value


def shortened(name: str, most: int = 60) -> str:
    """A name as it is drawn in a picture: cut in the middle where it is long.

    >>> shortened("a" * 100, 9)
    'aaaa…aaaa'
    """
    half = (most - 1) // 2
    return visible(name if len(name) <= most else f"{name[:half]}…{name[-half:]}")


def lines(table: Table) -> list[tuple[str, ...]]:
    """The names of the columns, then each row, all as text."""
    return [table.columns, *(tuple(map(cell, row)) for row in table.rows)]


def numeric(table: Table) -> list[bool]:
    """For each column whether it holds numbers only: such columns are set flush right."""
    columns = ([row[index] for row in table.rows] for index in range(len(table.columns)))
    present = [[value for value in column if value is not None] for column in columns]
    return [bool(column) and all(isinstance(value, int | float) for value in column) for column in present]


def short(table: Table) -> list[bool]:
    """For each column whether every cell of it fits on one line; the table scrolls rather than breaks them.

    >>> short(Table(columns=("score", "why"), rows=((".56 [.43 .68]", "a sentence of several words"),)))
    [True, False]
    """
    columns = ([cell(row[index]) for row in table.rows] for index in range(len(table.columns)))
    return [all(len(text) <= SHORT for text in column) for column in columns]
