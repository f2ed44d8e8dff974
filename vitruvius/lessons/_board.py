r"""Writing on the board: numbers, vectors and matrices as LaTeX.

Exact numbers stay exact (`\frac{8}{9}`), others are shown with six significant digits.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any


def number(value: Any) -> str:
    r"""A number in LaTeX.

    >>> number(Fraction(-8, 9)), number(3), number(0.123456789), number(1.5e-9)
    ('-\\frac{8}{9}', '3', '0.123457', '1.5 \\times 10^{-9}')
    """
    if isinstance(value, Fraction):
        if value.denominator == 1:
            return str(value.numerator)
        sign = "-" if value < 0 else ""
        return rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"
    if isinstance(value, int):
        return str(value)
    mantissa, _, exponent = f"{float(value):.6g}".partition("e")
    return rf"{mantissa} \times 10^{{{int(exponent)}}}" if exponent else mantissa


def surd(square: Fraction) -> str:
    r"""The square root of a fraction, as it is simplest.

    >>> surd(Fraction(15, 16)), surd(Fraction(4, 9))
    ('\\frac{\\sqrt{15}}{4}', '\\frac{2}{3}')
    """
    import sympy

    return str(sympy.latex(sympy.sqrt(sympy.Rational(square.numerator, square.denominator))))


def row(values: Sequence[Any]) -> str:
    """A row vector in LaTeX."""
    return matrix([values])


def column(values: Sequence[Any]) -> str:
    """A column vector in LaTeX."""
    return matrix([[value] for value in values])


def matrix(rows: Sequence[Sequence[Any]]) -> str:
    r"""A matrix in LaTeX.

    >>> matrix([[1, Fraction(1, 2)], [0, 4]])
    '\\begin{bmatrix} 1 & \\frac{1}{2} \\\\ 0 & 4 \\end{bmatrix}'
    """
    lines = (" & ".join(value if isinstance(value, str) else number(value) for value in line) for line in rows)
    return r"\begin{bmatrix} " + r" \\ ".join(lines) + r" \end{bmatrix}"


def latex(value: Any) -> str:
    """A number, a row (of a flat list), a matrix (of a list of lists) or text that is LaTeX already."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list | tuple):
        return number(value)
    return matrix(value) if value and isinstance(value[0], list | tuple) else row(value)
