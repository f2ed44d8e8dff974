"""Blocks as terminal output, Markdown and LaTeX."""

import io

import pytest
from rich.console import Console

from vitruvius.core.blocks import Block, Formula, Heatmap, Table, Text
from vitruvius.render import text as render

BLOCKS: list[Block] = [
    Text(text="Part 1", style="title"),
    Text(text="50 % of a_b"),
    Formula(latex=r"\frac{8}{9} \leq \sqrt{3}"),
    Table(columns=("part", "count"), rows=(("a|b", 1234), ("c", None))),
    Heatmap(title="Weights", values=((1.0,),)),
]


def shown(encoding: str, *blocks: Block) -> str:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    render.terminal(blocks, Console(file=file, width=60))
    file.flush()
    return file.buffer.getvalue().decode(encoding)


def test_a_formula_is_readable_on_a_terminal() -> None:
    assert shown("utf-8", BLOCKS[2]) == "    8/9 ≤ √3\n"


def test_a_terminal_without_the_characters_gets_the_latex() -> None:
    assert shown("ascii", BLOCKS[2]) == "    \\frac{8}{9} \\leq \\sqrt{3}\n"


def test_a_document_of_several_lines_is_not_folded() -> None:
    document = "a" * 50 + " " + "b" * 50 + "\nend"
    assert shown("utf-8", Text(text=document)) == f"{document}\n"
    assert shown("utf-8", Text(text=document[:101])).count("\n") == 2


def test_markdown_names_the_picture_of_each_figure() -> None:
    written = render.markdown(BLOCKS, ["weights-1.png"])
    assert "## Part 1" in written
    assert "$$\n\\frac{8}{9}" in written
    assert "| a\\|b | 1,234 |" in written
    assert written.endswith("![Weights](weights-1.png)\n")
    assert "![" not in render.markdown(BLOCKS)


def test_latex_escapes_words_and_shrinks_what_is_too_wide() -> None:
    written = render.latex(BLOCKS, ["weights-1.png"])
    assert r"50 \% of a\_b" in written
    assert r"\fit{$\displaystyle \frac{8}{9} \leq \sqrt{3}$}" in written
    assert r"\includegraphics{weights-1.png}" in written


@pytest.mark.parametrize("sign", ["×", "≤", "≥", "≈", "→", "∞", "−", "<", "|", "~", "^", "\\", "{"])
def test_a_latex_document_parses_strictly_whatever_its_words(sign: str) -> None:
    from pylatexenc.latexwalker import LatexWalker

    document = render.latex_document(
        f"On {sign}", render.latex([Text(text=f"a {sign} b"), *BLOCKS], ["x.png"])
    )
    LatexWalker(document, tolerant_parsing=False).get_latex_nodes()
    assert document.isascii()


def test_a_wide_formula_stands_on_several_lines_of_a_page() -> None:
    parts = r"a_1 = 1.23456789, \quad " * 9
    assert render.latex([Formula(latex=parts)]).count(r"\[") == 3
