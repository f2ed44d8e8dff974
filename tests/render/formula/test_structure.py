r"""Where a formula may be broken."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vitruvius.render.formula import structure

MATRIX = r"\begin{bmatrix} 1 & -2 \\ 30 & 4 \end{bmatrix}"


def test_the_parts_between_quads_are_latex_again_and_lose_nothing() -> None:
    assert structure.between_quads(rf"a = 1, \quad A = {MATRIX} \qquad b") == [
        "a = 1,",
        rf"A = {MATRIX}",
        "b",
    ]


@pytest.mark.parametrize(
    "latex",
    [
        r"\begin{bmatrix} a \quad b \end{bmatrix}",
        r"\left( c \quad d = 1 \right)",
        r"\sum_{i = 1}^n",
        r"[Z > 0]",
        r"f(a < b)",
        r"\text{if x = y}",
    ],
)
def test_inside_a_group_nothing_is_cut(latex: str) -> None:
    assert structure.between_quads(latex) == structure.before_relations(latex) == [latex]


def test_a_relation_begins_a_part_and_the_first_part_is_never_empty() -> None:
    assert structure.before_relations(r"a = b \leq c") == ["a ", "= b ", r"\leq c"]
    assert structure.before_relations(r"= c") == ["= c"]


def test_a_group_is_one_piece_with_its_name_or_delimiter() -> None:
    assert structure.pieces(rf"{MATRIX}^T") == [MATRIX, "^", "T"]
    assert structure.pieces(r"\left[ 1 \right )x") == [r"\left[ 1 \right )", "x"]


@given(st.text(alphabet=r"\{}[]()^_&'abfracleqightnd 12=+-,", max_size=40))
def test_pieces_put_together_are_the_formula(latex: str) -> None:
    assert "".join(structure.pieces(latex)) == "".join(structure.before_relations(latex)) == latex
