r"""LaTeX as text: what a formula looks like on a terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vitruvius.render.formula import typeset

MATRIX = r"\begin{bmatrix} 1 & -2 \\ 30 & 4 \end{bmatrix}"


@pytest.mark.parametrize(
    ("latex", "shown"),
    [
        (r"\alpha + \beta \leq \Omega", "α + β ≤ Ω"),
        (r"x_1^2 = x_{ij}^{-1}", "x₁² = xᵢⱼ⁻¹"),
        (r"W^Q, W_{QK}, e^{a/b}", "W^Q, W_QK, e^(a/b)"),
        (r"\frac{8}{9}", "8/9"),
        (r"-\frac{8}{9}", "−8/9"),
        (r"\sqrt{3} + \sqrt{a + b}", "√3 + √(a + b)"),
        (r"1.5 \times 10^{-9}", "1.5 × 10⁻⁹"),
        (r"a - -b = (-c)", "a − −b = (−c)"),
        (r"\operatorname{softmax}(Q K^\top)", "softmax(Q Kᵀ)"),
        (r"\max_j s_j", "maxⱼ sⱼ"),
        (r"\mathbb{R}^{n}, \hat{x}, \mathcal{L}", "ℝⁿ, x̂, L"),
        (r"\text{grad\_norm of 3}", "grad_norm of 3"),
        (r"\left( \frac{1}{2} \right)^2", "(1/2)²"),
        (r"\underbrace{a + b}_{\text{loss}}", "a + b (loss)"),
        (r"f'(x)", "f′(x)"),
        (r"\unknown{x}", "unknownx"),
    ],
)
def test_a_formula_on_one_line(latex: str, shown: str) -> None:
    assert typeset.text(latex) == shown


@pytest.mark.parametrize(
    ("latex", "shown"),
    [
        (rf"A = {MATRIX}", ["A = ⎡ 1  −2⎤", "    ⎣30   4⎦"]),
        (rf"{MATRIX}^\top x", ["⎡ 1  −2⎤ᵀ x", "⎣30   4⎦"]),
        (r"\frac{a + b}{c} = d", ["a + b", "───── = d", "  c"]),
        (r"\begin{cases} 1 & x > 0 \\ 0 & \text{else} \end{cases}", ["⎧1  x > 0", "⎩0  else"]),
        (r"\begin{aligned} a &= 1 \\ bc &= -2 \end{aligned}", [" a = 1", "bc = −2"]),
        (rf"\left[ {MATRIX} \right]", ["⎡⎡ 1  −2⎤⎤", "⎣⎣30   4⎦⎦"]),
    ],
)
def test_a_formula_of_several_lines(latex: str, shown: list[str]) -> None:
    assert typeset.text(latex).splitlines() == shown


def test_a_long_formula_is_broken_at_quads_and_then_at_relations() -> None:
    assert typeset.text(r"a = 1, \quad b = 2, \quad c = 3", width=16).splitlines() == [
        "a = 1,   b = 2,",
        "c = 3",
    ]
    assert typeset.text(r"aaaaaa = bbbbbb = cccccc", width=16).splitlines() == [
        "aaaaaa = bbbbbb",
        "   = cccccc",
    ]


def test_of_a_large_matrix_the_middle_is_left_out() -> None:
    rows = [" & ".join(str(100 * i + j) for j in range(20)) for i in range(30)]
    lines = typeset.text(r"\begin{bmatrix}" + r"\\".join(rows) + r"\end{bmatrix}").splitlines()
    assert len(lines) == 16
    assert "⋯" in lines[0]
    assert set(lines[12]) == set("⎢⋮ ⎥")
    assert "2919" in lines[-1]


@given(st.text(alphabet=r"\{}[]()^_&'abfracleqightnd 12=+-,", max_size=40))
def test_nothing_is_refused(latex: str) -> None:
    assert isinstance(typeset.text(latex), str)


@given(
    st.lists(
        st.sampled_from(
            [r"\frac", r"\left(", r"\right)", r"\begin{bmatrix}", r"\end{bmatrix}", "{", "}", "x", "^"]
        )
    )
)
def test_no_half_command_is_refused(tokens: list[str]) -> None:
    assert isinstance(typeset.text(" ".join(tokens)), str)
