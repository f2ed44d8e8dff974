"""Numbers as students write them: 3, 8/9, 0.333, 25%, 'e^2/(1+e^2)', 'sqrt(3)/2'.

A text is read by a small parser of its own, never evaluated as code. Whole numbers, fractions and what is
made of them stay exact; a decimal means the digits that were written.
"""

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

from vitruvius.core.errors import UserError

LONGEST = 200
"""Characters of an expression."""
DEEPEST = 30
"""Brackets, powers and signs inside one another."""
LARGEST = 1e100
"""Size that no number of a student has, and no number on the way to it."""
BITS = 2000
"""Size of the numerator and denominator up to which a number stays exact."""
CLOSE, NOTHING = 1e-6, 1e-9
"""Relative difference that is rounding in a float, and absolute difference beside the largest entry."""
TOKEN = re.compile(
    r"\s*(?:(\d+\.\d*(?:[eE][+-]?\d{1,3})?|\.\d+(?:[eE][+-]?\d{1,3})?|\d+[eE][+-]?\d{1,3}|\d+)"
    r"|([A-Za-zπ√]+)|(\*\*|[-+*/^()%]))",
    re.ASCII,
)
READ_AS = str.maketrans({"−": "-", "–": "-", "·": "*", "×": "*", "÷": "/", "[": "(", "]": ")"})
CONSTANTS = {"e": math.e, "pi": math.pi, "π": math.pi}
FUNCTIONS: dict[str, Callable[[float], float]] = {
    "exp": math.exp,
    "ln": math.log,
    "log": math.log,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "tanh": math.tanh,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
}

Number = int | Fraction | float


class Written(NamedTuple):
    """A number, and the size of one unit in the last digit that was written (0: it is exact)."""

    value: Number
    unit: float = 0.0

    def fits(self, truth: Number, slack: float = 0.0) -> bool:
        """Whether the true value, rounded or cut off to the digits that were written, is this one.

        `slack` is a difference that does not count. A whole number is fitted by itself only.

        >>> Written(0.667, 0.001).fits(Fraction(2, 3)), Written(0.666, 0.001).fits(Fraction(2, 3))
        (True, True)
        >>> Written(0.668, 0.001).fits(Fraction(2, 3)), Written(Fraction(2, 3)).fits(Fraction(2, 3))
        (False, True)
        """
        exact = isinstance(truth, int | Fraction) and isinstance(self.value, int | Fraction) and not slack
        if exact and (self.value == truth or not self.unit):
            return self.value == truth
        gap = abs(float(self.value) - float(truth))
        if isinstance(truth, int) and not slack:
            return gap <= 1e-9 * abs(truth)
        limit = max(slack, (CLOSE if self.unit else 1e-9) * abs(float(truth)), 0.5000001 * self.unit)
        cut_off = abs(float(self.value)) <= abs(float(truth)) and gap < self.unit
        return gap <= limit or (cut_off and float(self.value) * float(truth) >= 0)


def is_number(value: Any) -> bool:
    """Whether a value is a number, and not a truth value."""
    return isinstance(value, int | float | Fraction) and not isinstance(value, bool)


def read(value: Any) -> Written:
    """A number of an answer: a JSON number, or a text with an expression.

    >>> read("8/9").value, read("sqrt(9/4)").value, read("e^0").value
    (Fraction(8, 9), Fraction(3, 2), 1.0)
    >>> read("0.250").unit, read("12").unit
    (0.001, 0.0)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str | Fraction):
        raise UserError(f"{_shown(value)} is not a number")
    if isinstance(value, Fraction):
        return Written(value)
    text = repr(value) if isinstance(value, float) else str(value)
    if len(text) > LONGEST:
        raise UserError(f"'{text[:20]}...' has {len(text):,} characters, an expression at most {LONGEST}")
    try:
        reader = _Reader(text)
        number = reader.number()
    except OverflowError:
        raise UserError(f"'{text}' is not a number: it is too large") from None
    except (ArithmeticError, ValueError) as error:
        raise UserError(f"'{text}' is not a number: {error or 'it has no value'}") from None
    return Written(number, reader.unit(number))


class _Reader:
    """Reads one expression from left to right: sums of products of powers."""

    def __init__(self, text: str) -> None:
        self.text, self.position, self.depth = text.translate(READ_AS).strip(), 0, 0
        self.tokens: list[tuple[str, str]] = []  # kind (number, name, sign) and text
        self.decimals: list[str] = []
        while self.position < len(self.text):
            found = TOKEN.match(self.text, self.position)
            if not found:
                at = self.text[self.position :].strip()[:1]
                cure = "; a decimal has a point" if at == "," else ""
                raise ValueError(f"what is '{at}'?{cure}")
            kind = ("number", "name", "sign")[(found.lastindex or 1) - 1]
            self.tokens.append((kind, found[0].strip()))
            self.position = found.end()
        self.position = 0

    def number(self) -> Number:
        """The value of the whole text."""
        value = self._sum()
        if self.position < len(self.tokens):
            kind, text = self.tokens[self.position]
            product = kind in ("name", "number") or text == "("
            cure = "; a product is written with *, as in 2*e" if product else ""
            raise ValueError(f"'{text}' is one too many{cure}")
        return value

    def unit(self, value: Number) -> float:
        """One unit of the last written digit; of an expression, by its decimal with the fewest digits."""
        if not self.decimals:
            return 0.0
        digits = min(map(_digits, self.decimals))
        plain = [text for _, text in self.tokens if text not in "+-"]
        if len(plain) == 1 or (len(plain) == 2 and plain[1] == "%"):
            mantissa, _, exponent = plain[0].lower().partition("e")
            decimals = len(mantissa.partition(".")[2])
            # one digit says nothing about rounding: 0.5 is one half; but 0.01 stands beside 0.27
            power = int(exponent or 0) - decimals - 2 * (len(plain) - 1)
            return float(10.0**power) if max(digits, decimals) > 1 else 0.0
        return 0.0 if digits < 2 else abs(float(value)) * 10.0 ** (1 - digits)

    def _next(self, *signs: str) -> str:
        """The next sign if it is one of these, and then it is read."""
        wanted = [("sign", sign) for sign in signs]
        if self.position < len(self.tokens) and self.tokens[self.position] in wanted:
            self.position += 1
            return self.tokens[self.position - 1][1]
        return ""

    def _sum(self) -> Number:
        value = self._product()
        while sign := self._next("+", "-"):
            other = self._product()
            value = _kept(value + other if sign == "+" else value - other)
        return value

    def _product(self) -> Number:
        value = self._signed()
        while sign := self._next("*", "/"):
            other = self._signed()
            if sign == "/" and not other:
                raise ValueError("it divides by 0")
            value = _kept(value * other if sign == "*" else _over(value, other))
        return value

    def _signed(self) -> Number:
        self._deeper()
        if sign := self._next("+", "-"):
            value = self._signed()
            value = -value if sign == "-" else value
        else:
            value = self._power()
        self.depth -= 1
        return value

    def _power(self) -> Number:
        base = self._atom()
        if self._next("%"):
            base = _over(base, 100)
        return _raised(base, self._signed()) if self._next("^", "**") else base

    def _atom(self) -> Number:
        if self._next("("):
            return self._closed()
        kind, text = self.tokens[self.position] if self.position < len(self.tokens) else ("end", "")
        self.position += 1
        if kind == "number":
            if text.isdigit():
                return int(text)
            self.decimals.append(text)
            return _kept(Fraction(text))
        if text in CONSTANTS:
            return CONSTANTS[text]
        if text in ("sqrt", "abs", *FUNCTIONS):
            if not self._next("("):
                raise ValueError(f"{text} needs brackets: {text}(...)")
            return _applied(text, self._closed())
        if text == "√":
            return _applied("sqrt", self._atom())
        if kind == "name":
            known = ", ".join(("sqrt", "abs", *FUNCTIONS, "e", "pi"))
            raise ValueError(f"'{text}' is unknown; known are {known}")
        raise ValueError(f"'{text}' stands where a number should" if text else "it ends too early")

    def _closed(self) -> Number:
        """What stands in brackets, the opening one being read."""
        self._deeper()
        value = self._sum()
        self.depth -= 1
        if not self._next(")"):
            raise ValueError("a bracket is not closed")
        return value

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise ValueError("it is nested too deeply")


def _over(value: Number, other: Number) -> Number:
    exact = isinstance(value, int | Fraction) and isinstance(other, int | Fraction)
    return Fraction(value) / Fraction(other) if exact else value / other


def _raised(base: Number, exponent: Number) -> Number:
    exact = isinstance(base, int | Fraction) and isinstance(exponent, int | Fraction)
    power = int(exponent)
    if exact and exponent == power and abs(power) <= 64 and (base or power >= 0):
        return _kept(Fraction(base) ** power)
    if base < 0:
        raise ValueError("a power of a negative number needs a small whole exponent")
    return _kept(math.pow(float(base), float(exponent)))


def _applied(name: str, value: Number) -> Number:
    if name == "abs":
        return -value if value < 0 else value
    if name != "sqrt":
        return _kept(FUNCTIONS[name](float(value)))
    if value < 0:
        raise ValueError("it takes the root of a negative number")
    if isinstance(value, int | Fraction):
        square = Fraction(value)
        found = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
        if found * found == square:
            return found
    return math.sqrt(value)


def _kept(value: Number) -> Number:
    """The number if it is of a size that a number of an answer has; exact ones of many digits as floats."""
    if isinstance(value, float):
        if not abs(value) <= LARGEST:  # NaN too
            raise ValueError("it is too large")
        return value
    exact = Fraction(value)
    if max(exact.numerator.bit_length(), exact.denominator.bit_length()) <= BITS:
        if abs(exact) > LARGEST:
            raise ValueError("it is too large")
        return value
    if exact.numerator.bit_length() - exact.denominator.bit_length() > 400:
        raise ValueError("it is too large")
    return float(exact)


def _digits(decimal: str) -> int:
    """Significant digits of a decimal.

    >>> _digits("0.0120"), _digits("1.5e-9"), _digits("0.00")
    (3, 2, 2)
    """
    mantissa = decimal.lower().partition("e")[0].replace(".", "")
    return len(mantissa.lstrip("0")) or len(mantissa) - 1


def _shown(value: Any) -> str:
    text = str(value)
    return f"'{text}'" if len(text) <= 40 else f"'{text[:37]}...'"
