"""Blocks as terminal output, Markdown, LaTeX and JSON."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from vitruvius.core.blocks import Block, Cell, Formula, Table, Text

if TYPE_CHECKING:
    from rich.console import Console

_STYLES = {"plain": "", "title": "bold", "note": "dim", "warning": "yellow", "error": "bold red", "good": "green"}
_LATEX_SPECIAL = str.maketrans(
    {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}"}
    | {">": r"\textgreater{}", "|": r"\textbar{}"}
    | {sign: f"\\{sign}" for sign in "&%$#_{}"}
)


def cell(value: Cell) -> str:
    """A table cell as text: four significant digits, thousands apart, nothing for None.

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


def terminal(blocks: Iterable[Block], console: "Console") -> None:
    """Show blocks on a terminal; figures are left to the pictures beside the numbers."""
    from rich.text import Text as Styled

    for block in blocks:
        if isinstance(block, Text):
            console.print(Styled(block.text, style=_STYLES[block.style]))
        elif isinstance(block, Formula):
            console.print(Styled(f"    {block.latex}", style="cyan"), soft_wrap=True)
        elif isinstance(block, Table):
            _terminal_table(block, console)


def markdown(blocks: Iterable[Block]) -> str:
    """Blocks as Markdown."""
    return "\n\n".join(filter(None, map(_markdown_block, blocks))) + "\n"


def latex(blocks: Iterable[Block]) -> str:
    """Blocks as the body of a LaTeX document."""
    return "\n\n".join(filter(None, map(_latex_block, blocks))) + "\n"


def as_json(value: Any) -> str:
    """One JSON document, readable and without NaN."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)


def escape_latex(text: str) -> str:
    """Text in which LaTeX sees nothing special.

    >>> escape_latex("50 % of a_b")
    '50 \\\\% of a\\\\_b'
    """
    return text.translate(_LATEX_SPECIAL)


def _numeric(table: Table, column: int) -> bool:
    values = [row[column] for row in table.rows if row[column] is not None]
    return bool(values) and all(isinstance(value, int | float) for value in values)


def _terminal_table(table: Table, console: "Console") -> None:
    from rich import box
    from rich.table import Table as Rows
    from rich.text import Text as Styled

    rows = Rows(title=table.title or None, caption=table.note or None, box=box.SIMPLE_HEAD, title_justify="left")
    rows.caption_justify = "left"
    for index, name in enumerate(table.columns):
        numeric = _numeric(table, index)
        rows.add_column(name, justify="right" if numeric else "left", no_wrap=numeric or index == 0, overflow="fold")
    for row in table.rows:
        rows.add_row(*(Styled(cell(value)) for value in row))
    console.print(rows)


def _markdown_block(block: Block) -> str:
    if isinstance(block, Text):
        return f"**{block.text}**" if block.style == "title" else block.text
    if isinstance(block, Formula):
        return f"$$\n{block.latex}\n$$"
    if isinstance(block, Table):
        marks = ["---:" if _numeric(block, index) else "---" for index in range(len(block.columns))]
        lines = [block.columns, tuple(marks), *(tuple(map(cell, row)) for row in block.rows)]
        grid = "\n".join("| " + " | ".join(text.replace("|", "\\|") for text in line) + " |" for line in lines)
        return "\n\n".join(filter(None, [f"**{block.title}**" if block.title else "", grid, block.note]))
    return ""


def _latex_block(block: Block) -> str:
    if isinstance(block, Text):
        text = escape_latex(block.text)
        return f"\\paragraph{{{text}}}" if block.style == "title" else text
    if isinstance(block, Formula):
        return f"\\[\n{block.latex}\n\\]"
    if isinstance(block, Table):
        spec = "".join("r" if _numeric(block, index) else "l" for index in range(len(block.columns)))
        lines = [block.columns, *(tuple(map(cell, row)) for row in block.rows)]
        head, *body = (" & ".join(map(escape_latex, line)) + r" \\" for line in lines)
        grid = "\n".join([f"\\begin{{tabular}}{{{spec}}}", head, r"\hline", *body, r"\end{tabular}"])
        return "\n\n".join(filter(None, [escape_latex(block.title), grid, escape_latex(block.note)]))
    return ""
