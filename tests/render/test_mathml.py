"""Formulas as MathML."""

from xml.etree import ElementTree

import pytest

from vitruvius.render import mathml


@pytest.mark.parametrize(
    ("latex", "part"),
    [
        (r"\frac{8}{9}", "<mfrac>"),
        (r"\begin{bmatrix} 1 & 2 \\ 3 & 4 \end{bmatrix}", '<mtable class="brackets">'),
        (r"\begin{aligned} a &= 1 \\ b &= 2 \end{aligned}", "<mtable"),
        (r"\sqrt{3} \leq x_1^2", "<msqrt>"),
        (r"a < b", "&lt;"),
    ],
)
def test_a_formula_is_well_formed_mathml(latex: str, part: str) -> None:
    written = mathml.formula(latex)
    ElementTree.fromstring(written)
    assert part in written


def test_brackets_around_a_matrix_are_drawn_by_the_page() -> None:
    written = mathml.formula(r"A = \begin{bmatrix} 1 \end{bmatrix} \begin{bmatrix} 2 \end{bmatrix} + [3]")
    assert written.count("brackets") == 2
    assert written.count("<mo") == 4  # =, + and the two around 3


@pytest.mark.parametrize(
    "latex", [r"\text{<script>alert(1)</script>}", r"\href{javascript:alert(1)}{x}", r"\frac{<img>}{"]
)
def test_words_are_never_markup(latex: str) -> None:
    written = mathml.formula(latex)
    assert "<script" not in written
    assert "<img" not in written
    assert "javascript" not in written


def test_what_cannot_be_read_is_shown_as_it_is() -> None:
    assert mathml.formula(r"\frac{1}{") == r"<code>\frac{1}{</code>"
