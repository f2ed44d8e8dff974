"""Blocks on a terminal, drawn by rich; a formula is broken to fit the terminal's columns."""

import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

from vitruvius.core.blocks import Block, Formula, Table, Text
from vitruvius.core.visible import visible
from vitruvius.render import cells

if TYPE_CHECKING:
    from rich.console import Console

STYLES = {"plain": "", "title": "bold", "note": "dim", "good": "green", "code": ""}
STYLES |= {"warning": "yellow", "error": "bold red"}
FORMULA_WIDTH = 100  # columns beyond which a formula is broken even where the terminal is wider


def show(blocks: Iterable[Block], console: "Console") -> None:
    """Print blocks on a console; figures are left out (they are written to files)."""
    from rich.text import Text as Styled

    for block in blocks:
        if isinstance(block, Text):
            # Text of several lines is a document: its lines are not folded.
            console.print(
                Styled(visible(block.text), style=STYLES[block.style]), soft_wrap="\n" in block.text
            )
        elif isinstance(block, Formula):
            console.print(Styled(visible(_formula(block.latex, console)), style="cyan"), soft_wrap=True)
        elif isinstance(block, Table):
            _table(block, console)


def _formula(latex: str, console: "Console") -> str:
    """A formula as indented lines of text, or as LaTeX where the terminal's encoding is not Unicode."""
    from vitruvius.render.formula import typeset

    readable = console.encoding.startswith("utf")
    lines = typeset.text(latex, min(console.width - 5, FORMULA_WIDTH)) if readable else latex
    return textwrap.indent(lines, "    ")


def _table(table: Table, console: "Console") -> None:
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text as Styled

    title, note = (Styled(visible(text)) if text else None for text in (table.title, table.note))
    grid = Grid(title=title, caption=note, box=box.SIMPLE_HEAD)
    grid.title_justify = grid.caption_justify = "left"
    names, *rows = cells.lines(table)
    for index, (name, numeric) in enumerate(zip(names, cells.numeric(table), strict=True)):
        grid.add_column(Styled(visible(name)), no_wrap=numeric or index == 0, overflow="fold")
        grid.columns[-1].justify = "right" if numeric else "left"
    for row in rows:
        grid.add_row(*(Styled(visible(text)) for text in row))
    console.print(grid)
