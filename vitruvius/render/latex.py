r"""Blocks as a LaTeX document. TeX breaks the formulas: they are set as paragraphs.

Inside a paragraph TeX breaks a formula after a relation, or where a `\quad` stood. What it cannot break (a
matrix, a table, a picture) is shrunk to the line where it is wider.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from vitruvius.core.blocks import Block, Formula, Table, Text
from vitruvius.core.visible import visible
from vitruvius.render import cells
from vitruvius.render.formula import structure

PREAMBLE = Path(__file__).parent / "templates" / "preamble.tex"
MATHS = {"×": r"\times", "≤": r"\leq", "≥": r"\geq", "≈": r"\approx", "→": r"\to", "∞": r"\infty", "−": "-"}
SPECIAL = str.maketrans(
    {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}"}
    | {">": r"\textgreater{}", "|": r"\textbar{}"}
    | {sign: f"\\{sign}" for sign in "&%$#_{}"}
    | {sign: f"${command}$" for sign, command in MATHS.items()}
)


def document(title: str, blocks: Iterable[Block], pictures: Sequence[str] = ()) -> str:
    """Blocks as a document that compiles; `pictures` are the files that hold their figures, in order."""
    heading = f"\\section*{{{_one_line(escape(title))}}}"
    opening = f"{PREAMBLE.read_text(encoding='utf-8')}\\begin{{document}}\n{heading}\n\n"
    return f"{opening}{body(blocks, pictures)}\n\\end{{document}}\n"


def body(blocks: Iterable[Block], pictures: Sequence[str] = ()) -> str:
    """Blocks as the body of a LaTeX document."""
    files = iter(pictures)
    return "\n\n".join(filter(None, (_block(block, files) for block in blocks))) + "\n"


def escape(text: str) -> str:
    """Text in which LaTeX sees nothing special.

    >>> escape("50 % of a_b")
    '50 \\\\% of a\\\\_b'
    """
    return visible(text).translate(SPECIAL)


def _block(block: Block, pictures: Iterator[str]) -> str:
    if isinstance(block, Text) and block.style == "code":
        # With a space between, the end of the environment is not recognised inside it.
        inside = visible(block.text).replace(r"\end{verbatim}", r"\end {verbatim}")
        return f"\\begin{{verbatim}}\n{inside}\n\\end{{verbatim}}"
    if isinstance(block, Text):
        text = escape(block.text)
        return f"\\subsection*{{{_one_line(text)}}}" if block.style == "title" else text
    if isinstance(block, Formula):
        return f"\\begin{{formula}}\n{_formula(block.latex)}\n\\end{{formula}}"
    if isinstance(block, Table):
        sides = "".join("r" if numeric else "l" for numeric in cells.numeric(block))
        head, *rows = (" & ".join(map(escape, line)) + r" \\" for line in cells.lines(block))
        grid = "\n".join([f"\\begin{{tabular}}{{{sides}}}", head, r"\hline", *rows, r"\end{tabular}"])
        return "\n\n".join(filter(None, [escape(block.title), f"\\fit{{{grid}}}", escape(block.note)]))
    file = next(pictures, "")
    return f"\\begin{{center}}\n\\fit{{\\includegraphics{{{file}}}}}\n\\end{{center}}" if file else ""


def _one_line(text: str) -> str:
    """A text without line breaks: an empty line would end the argument of a heading."""
    return " ".join(text.split("\n"))


def _formula(latex: str) -> str:
    """The parts between quads as formulas of a paragraph, their matrices in boxes that shrink to the line.

    The rows of a matrix that holds fractions stand further apart, or the fractions would touch."""
    parts = []
    for part in structure.between_quads(latex):
        pieces = structure.pieces(part)
        for index, piece in enumerate(pieces):
            if piece.startswith(("\\begin", "\\left")):
                apart = r"\apart" if r"\frac" in piece else ""
                pieces[index] = rf"\fit{{{apart}$\displaystyle {piece}$}}"
        parts.append(rf"$\displaystyle {''.join(pieces)}$")
    return " \\quad\n".join(parts)
