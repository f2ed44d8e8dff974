"""Arithmetic on lists, exact as long as it can be: fractions in, fractions out, floats behind a root."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import sympy

Number = Fraction | float


def product(left: Sequence[Sequence[Any]], right: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """The matrix product.

    >>> product([[1, 2]], [[Fraction(1, 2)], [3]])
    [[Fraction(13, 2)]]
    """
    columns = list(zip(*right, strict=True))
    return [[sum(a * b for a, b in zip(row, column, strict=True)) for column in columns] for row in left]


def root(square: Fraction | int) -> Number:
    """The square root, exact where it is rational.

    >>> root(Fraction(4, 9)), root(2)
    (Fraction(2, 3), 1.4142135623730951)
    """
    square = Fraction(square)
    found = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
    return found if found * found == square else math.sqrt(square)


def surd(square: Fraction) -> str:
    r"""The square root of a fraction in LaTeX, as it is simplest.

    >>> surd(Fraction(15, 16)), surd(Fraction(4, 9))
    ('\\frac{\\sqrt{15}}{4}', '\\frac{2}{3}')
    """
    return str(sympy.latex(sympy.sqrt(sympy.Rational(square.numerator, square.denominator))))


def worth(term: Any) -> Number:
    """A number of sympy as a fraction where it is one."""
    return Fraction(int(term.p), int(term.q)) if term.is_Rational else float(term)


def log_softmax(scores: Sequence[Any]) -> list[float]:
    """The logarithms of the softmax; the largest score is taken off first, so that nothing overflows."""
    best = max(scores)
    total = math.log(math.fsum(math.exp(score - best) for score in scores))
    return [float(score - best) - total for score in scores]


def softmax(scores: Sequence[Any]) -> list[float]:
    """Positive weights that add up to 1.

    >>> softmax([Fraction(3), 3])
    [0.5, 0.5]
    """
    return [math.exp(value) for value in log_softmax(scores)]
