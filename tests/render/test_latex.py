"""Blocks as LaTeX."""

import shutil
import subprocess
from pathlib import Path

import pytest

from vitruvius.core.blocks import Block, Formula, Heatmap, Table, Text
from vitruvius.render import latex

MATRIX = r"\begin{bmatrix} 1 & 2 \end{bmatrix}"
BLOCKS: list[Block] = [
    Text(text="Part 1", style="title"),
    Text(text="50 % of a_b"),
    Formula(latex=r"\frac{8}{9} \leq \sqrt{3}"),
    Table(columns=("part", "count"), rows=(("a|b", 1234), ("c", None))),
    Heatmap(title="Weights", values=((1.0,),)),
]


def test_words_are_escaped_and_figures_are_included() -> None:
    written = latex.body(BLOCKS, ["weights-1.png"])
    assert r"50 \% of a\_b" in written
    assert r"\fit{\includegraphics{weights-1.png}}" in written
    assert r"\fit{\begin{tabular}{lr}" in written
    assert "includegraphics" not in latex.body(BLOCKS)


def test_tex_may_break_a_formula_between_its_parts_and_shrinks_only_what_has_no_break() -> None:
    written = latex.body([Formula(latex=rf"a = 1, \quad A = {MATRIX}^\top")])
    assert "$\\displaystyle a = 1,$ \\quad\n$\\displaystyle A = " in written
    assert rf"\fit{{$\displaystyle {MATRIX}$}}^\top$" in written


def test_rows_of_a_matrix_with_fractions_stand_apart() -> None:
    matrix = r"\begin{bmatrix} \frac{5}{2} \\ \frac{7}{3} \end{bmatrix}"
    assert rf"\fit{{\apart$\displaystyle {matrix}$}}" in latex.body([Formula(latex=f"A = {matrix}")])
    assert r"\apart$" not in latex.body([Formula(latex=rf"A = {MATRIX}")])


@pytest.mark.parametrize("sign", ["×", "≤", "≥", "≈", "→", "∞", "−", "<", "|", "~", "^", "\\", "{"])
def test_a_document_parses_strictly_whatever_its_words(sign: str) -> None:
    from pylatexenc.latexwalker import LatexWalker

    document = latex.document(f"On {sign}", [Text(text=f"a {sign} b"), *BLOCKS], ["x.png"])
    LatexWalker(document, tolerant_parsing=False).get_latex_nodes()
    assert document.isascii()


if shutil.which("pdflatex"):  # an engine cannot be installed by pip, and a skip would look like a gap

    @pytest.mark.slow
    def test_no_formula_is_wider_than_the_line(tmp_path: Path) -> None:
        wide = r" & ".join(["123456789"] * 30)
        formulas = [
            r"a_1 = 1.23456789, \quad " * 20,
            "x = " + " = ".join(["1.23456789 + y"] * 20),
            rf"A = \begin{{bmatrix}} {wide} \end{{bmatrix}}^\top B",
            rf"\left( \begin{{matrix}} {wide} \end{{matrix}} \right) \leq 2",
        ]
        document = latex.document("Wide", [Formula(latex=formula) for formula in formulas])
        (tmp_path / "wide.tex").write_text(document)
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "wide.tex"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-2000:]
        assert "Overfull" not in done.stdout
