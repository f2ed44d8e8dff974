"""Values of a lesson: as JSON holds them, as lists, and entry by entry."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

Value = Any
"""A number (int, float, Fraction), a word, a bool, or lists and string-keyed dicts of values."""


def plain(value: Value, digits: int = 12) -> Any:
    """A value as JSON holds it: fractions as "8/9", whole ones as integers, floats with so many significant
    digits.

    >>> plain({"a": [Fraction(8, 9), Fraction(2), 1 / 3]})
    {'a': ['8/9', 2, 0.333333333333]}
    """
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else str(value)
    if isinstance(value, bool | int | str) or value is None:
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item, digits) for key, item in value.items()}
    if hasattr(value, "tolist"):  # tensors and arrays
        return plain(value.tolist(), digits)
    if isinstance(value, Iterable):
        return [plain(item, digits) for item in value]
    return float(f"{float(value):.{digits}g}")


def listed(value: Value) -> Any:
    """A value whose tensors, arrays and tuples have become lists; everything else stays as it is."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: listed(item) for key, item in value.items()}
    return [listed(item) for item in value] if isinstance(value, list | tuple) else value


def leaves(value: Value, path: str = "") -> dict[str, Any]:
    """The entries of a nested value by path.

    >>> leaves({"a": [1, 2], "b": "x"})
    {'a.0': 1, 'a.1': 2, 'b': 'x'}
    """
    value = value.tolist() if hasattr(value, "tolist") else value
    inner: Iterable[tuple[Any, Any]]
    if isinstance(value, Mapping):
        inner = value.items()
    elif isinstance(value, list | tuple):
        inner = enumerate(value)
    else:
        return {path: value}
    found: dict[str, Any] = {}
    for key, item in inner:
        found |= leaves(item, f"{path}.{key}" if path else str(key))
    return found
