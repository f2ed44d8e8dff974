r"""Writing on the board: numbers, vectors and matrices in LaTeX and in sentences, and templates.

Exact numbers stay exact (`\frac{8}{9}`, 8/9), others are shown with six significant digits.
"""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

PLACE = re.compile(r"<([A-Za-z_]\w*)((?:\.\w+|\[-?\w+\])*)(?::([^<>]+))?>")
"""`<name>`, `<name[0][-1]>`, `<name.field>`, each perhaps with a format: `<name:.4g>`, `<name:column>`."""

LONGEST = 9
"""Terms of a sum that are all written down."""


def number(value: Any) -> str:
    r"""A number in LaTeX.

    >>> number(Fraction(-8, 9)), number(3), number(0.123456789), number(1.5e-9), number(-0.0)
    ('-\\frac{8}{9}', '3', '0.123457', '1.5 \\times 10^{-9}', '0')
    """
    if isinstance(value, Fraction):
        if value.denominator == 1:
            return str(value.numerator)
        sign = "-" if value < 0 else ""
        return rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"
    if isinstance(value, int):
        return str(value)
    mantissa, _, exponent = f"{float(value) or 0.0:.6g}".partition("e")  # 0 has no sign
    return rf"{mantissa} \times 10^{{{int(exponent)}}}" if exponent else mantissa


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
    lines = (
        " & ".join(value if isinstance(value, str) else number(value) for value in line) for line in rows
    )
    return r"\begin{bmatrix} " + r" \\ ".join(lines) + r" \end{bmatrix}"


def dot(left: Sequence[Any], right: Sequence[Any]) -> str:
    r"""A dot product written out.

    >>> dot([2, Fraction(1, 2)], [3, -1])
    '2 \\cdot 3 + \\frac{1}{2} \\cdot (-1)'
    """
    return added([rf"{signed(x)} \cdot {signed(y)}" for x, y in zip(left, right, strict=True)])


def added(terms: Sequence[Any]) -> str:
    r"""A sum written out, its middle left out if it is long.

    >>> added([1, -2, 3]), added(range(20))
    ('1 + (-2) + 3', '0 + 1 + 2 + 3 + 4 + 5 + \\dots + 19')
    """
    shown = [term if isinstance(term, str) else signed(term) for term in terms]
    return " + ".join(shown if len(shown) <= LONGEST else [*shown[: LONGEST - 3], r"\dots", shown[-1]])


def signed(value: Any) -> str:
    """A number in LaTeX as it stands behind a sign: negative ones in brackets."""
    return f"({number(value)})" if value < 0 else number(value)


def latex(value: Any) -> str:
    """A number, a row (of a flat list), a matrix (of a list of lists) or text that is LaTeX already."""
    value = _plain(value)
    if isinstance(value, str):
        return value
    if not isinstance(value, list | tuple):
        return number(value)
    return matrix(value) if value and isinstance(value[0], list | tuple) else row(value)


def short(value: Any) -> str:
    """A value in a sentence: a fraction as it is, a float with six digits, a list entry by entry.

    >>> short(Fraction(8, 9)), short(2 / 3), short([Fraction(1, 2), 3])
    ('8/9', '0.666667', '1/2, 3')
    """
    value = _plain(value)
    if isinstance(value, list | tuple):
        return ", ".join(map(short, value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def sentence(template: str, named: Mapping[str, Any]) -> str:
    """A template with its values as they are said.

    >>> sentence("<n> words, <share:.1%> of <all[-1]>.", {"n": Fraction(3, 2), "share": 0.25, "all": [1, 7]})
    '3/2 words, 25.0% of 7.'
    """
    return PLACE.sub(lambda place: _filled(place, named, short), template)


def formula(template: str, named: Mapping[str, Any]) -> str:
    r"""A LaTeX template with its values as they are written.

    >>> formula(r"\sqrt{<n>} \approx <root:.3g>", {"n": Fraction(1, 2), "root": 0.70710678})
    '\\sqrt{\\frac{1}{2}} \\approx 0.707'
    """
    return PLACE.sub(lambda place: _filled(place, named, latex), template)


def last(template: str, named: Mapping[str, Any]) -> Any:
    """The value that a template ends with, None if it ends with something else.

    >>> last("n = <n>", {"n": 4}), last("<n> words", {"n": 4})
    (4, None)
    """
    *_, place = (None, *PLACE.finditer(template))
    return _value(place, named) if place and place.end() == len(template) else None


def last_name(template: str) -> str:
    """The name of the value that a template ends with; empty if that is a part of a value or something else.

    >>> last_name("n = <n>"), last_name("n = <n[0]>"), last_name("<n> words")
    ('n', '', '')
    """
    *_, place = (None, *PLACE.finditer(template))
    return place[1] if place and place.end() == len(template) and not place[2] else ""


def _value(place: re.Match[str], named: Mapping[str, Any]) -> Any:
    value = named[place[1]]
    for attribute, index in re.findall(r"\.(\w+)|\[(-?\w+)\]", place[2]):
        if attribute:
            value = getattr(value, attribute)
        else:
            value = value[index if isinstance(value, Mapping) else int(index)]
    return value


def _filled(place: re.Match[str], named: Mapping[str, Any], write: Any) -> str:
    value, form = _value(place, named), place[3]
    if form == "column":
        return column(_plain(value))
    if form:
        return format(float(value) if isinstance(value, Fraction) else value, form)
    return str(write(value))


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value
