"""Blocks as terminal output, Markdown, LaTeX and JSON."""

import io
import json
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from vitruvius.core.blocks import Block, Cell, Formula, Table, Text

if TYPE_CHECKING:
    from rich.console import Console

_STYLES = {
    "plain": "",
    "title": "bold",
    "note": "dim",
    "warning": "yellow",
    "error": "bold red",
    "good": "green",
}
FORMULA_WIDTH = 100
"""Columns beyond which a formula is broken even where there is room."""
PAGE_WIDTH = 80
"""Columns of a formula on a terminal that fill the line of a page."""
_PREAMBLE = r"""\documentclass[11pt]{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage[margin=2.2cm]{geometry}
\usepackage{amsmath,amssymb,graphicx}
\setcounter{MaxMatrixCols}{512}
\setlength{\parindent}{0pt}
\setlength{\parskip}{6pt}
% What is wider than the page is shrunk to it.
\newsavebox{\fitbox}
\newcommand{\fit}[1]{\sbox{\fitbox}{#1}%
  \ifdim\wd\fitbox>\linewidth\resizebox{\linewidth}{!}{\usebox{\fitbox}}\else\usebox{\fitbox}\fi}
"""
_MATHS = {"×": r"\times", "≤": r"\leq", "≥": r"\geq", "≈": r"\approx", "→": r"\to", "∞": r"\infty", "−": "-"}
_LATEX_SPECIAL = str.maketrans(
    {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}"}
    | {">": r"\textgreater{}", "|": r"\textbar{}"}
    | {sign: f"\\{sign}" for sign in "&%$#_{}"}
    | {sign: f"${command}$" for sign, command in _MATHS.items()}
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
            # Text of several lines is a document: its lines are not folded.
            console.print(Styled(block.text, style=_STYLES[block.style]), soft_wrap="\n" in block.text)
        elif isinstance(block, Formula):
            console.print(Styled(_indented(block, console), style="cyan"), soft_wrap=True)
        elif isinstance(block, Table):
            _terminal_table(block, console)


def plain(blocks: Iterable[Block]) -> str:
    """Blocks as a text file."""
    from rich.console import Console

    console = Console(file=io.StringIO(), width=FORMULA_WIDTH, highlight=False, color_system=None)
    with console.capture() as captured:
        terminal(blocks, console)
    return captured.get()


def _indented(formula: Formula, console: "Console") -> str:
    """A formula as lines of text, or as it is written where the terminal lacks the characters."""
    from vitruvius.render.formula import typeset

    readable = console.encoding.startswith("utf")
    lines = typeset.text(formula.latex, min(console.width - 5, FORMULA_WIDTH)) if readable else formula.latex
    return textwrap.indent(lines, "    ")


def markdown(blocks: Iterable[Block], pictures: Sequence[str] = ()) -> str:
    """Blocks as Markdown; `pictures` are the files that hold their figures, in order."""
    files = iter(pictures)
    return "\n\n".join(filter(None, (_markdown_block(block, files) for block in blocks))) + "\n"


def latex(blocks: Iterable[Block], pictures: Sequence[str] = ()) -> str:
    """Blocks as the body of a LaTeX document; `pictures` are the files that hold their figures, in order."""
    files = iter(pictures)
    return "\n\n".join(filter(None, (_latex_block(block, files) for block in blocks))) + "\n"


def latex_document(title: str, body: str) -> str:
    """A body as a document that compiles."""
    return (
        f"{_PREAMBLE}\\begin{{document}}\n\\section*{{{escape_latex(title)}}}\n\n{body}\n\\end{{document}}\n"
    )


def formula_parts(formula: Formula) -> list[str]:
    """A formula in parts that fit on a page, each again LaTeX."""
    from vitruvius.render.formula import typeset

    return typeset.parts(formula.latex, PAGE_WIDTH)


def as_json(value: Any) -> str:
    """One JSON document, readable and without NaN."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)


def escape_latex(text: str) -> str:
    """Text in which LaTeX sees nothing special.

    >>> escape_latex("50 % of a_b")
    '50 \\\\% of a\\\\_b'
    """
    return text.translate(_LATEX_SPECIAL)


def is_numeric(table: Table, column: int) -> bool:
    """Whether a column holds numbers only: such columns are set flush right."""
    values = [row[column] for row in table.rows if row[column] is not None]
    return bool(values) and all(isinstance(value, int | float) for value in values)


def _terminal_table(table: Table, console: "Console") -> None:
    from rich import box
    from rich.table import Table as Rows
    from rich.text import Text as Styled

    rows = Rows(
        title=table.title or None, caption=table.note or None, box=box.SIMPLE_HEAD, title_justify="left"
    )
    rows.caption_justify = "left"
    for index, name in enumerate(table.columns):
        numeric = is_numeric(table, index)
        rows.add_column(
            name, justify="right" if numeric else "left", no_wrap=numeric or index == 0, overflow="fold"
        )
    for row in table.rows:
        rows.add_row(*(Styled(cell(value)) for value in row))
    console.print(rows)


def _markdown_block(block: Block, pictures: Iterator[str]) -> str:
    if isinstance(block, Text):
        return f"## {block.text}" if block.style == "title" else block.text
    if isinstance(block, Formula):
        return f"$$\n{block.latex}\n$$"
    if isinstance(block, Table):
        marks = ["---:" if is_numeric(block, index) else "---" for index in range(len(block.columns))]
        lines = [block.columns, tuple(marks), *(tuple(map(cell, row)) for row in block.rows)]
        grid = "\n".join(
            "| " + " | ".join(text.replace("|", "\\|") for text in line) + " |" for line in lines
        )
        return "\n\n".join(filter(None, [f"**{block.title}**" if block.title else "", grid, block.note]))
    file = next(pictures, "")
    return f"![{block.title}]({file})" if file else ""


def _latex_block(block: Block, pictures: Iterator[str]) -> str:
    if isinstance(block, Text):
        text = escape_latex(block.text)
        return f"\\subsection*{{{text}}}" if block.style == "title" else text
    if isinstance(block, Formula):
        return "\n".join(f"\\[\n\\fit{{$\\displaystyle {part}$}}\n\\]" for part in formula_parts(block))
    if isinstance(block, Table):
        spec = "".join("r" if is_numeric(block, index) else "l" for index in range(len(block.columns)))
        lines = [block.columns, *(tuple(map(cell, row)) for row in block.rows)]
        head, *body = (" & ".join(map(escape_latex, line)) + r" \\" for line in lines)
        grid = "\n".join([f"\\begin{{tabular}}{{{spec}}}", head, r"\hline", *body, r"\end{tabular}"])
        fitted = f"\\fit{{{grid}}}"
        return "\n\n".join(filter(None, [escape_latex(block.title), fitted, escape_latex(block.note)]))
    file = next(pictures, "")
    return f"\\begin{{center}}\n\\fit{{\\includegraphics{{{file}}}}}\n\\end{{center}}" if file else ""
