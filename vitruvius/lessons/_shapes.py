"""Shapes in the types of a question: `Annotated[Matrix, "N D"]`, where equal letters mean equal sizes.

A dimension is a letter, a number ("3 D") or a product ("H*E D"). The first field that has a letter fixes its
size."""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from vitruvius.core.counted import counted

LARGEST = 64
"""Rows and columns that a lesson still shows on a board; the limit of every letter without its own."""

Sizes = dict[str, tuple[int, str]]
"""The size of each letter, and the field that fixed it."""


def measure(fields: Iterable[tuple[str, str, Any]], limits: Mapping[str, tuple[int, int]]) -> Sizes:
    """The sizes that (name, shape, value) give to the letters; what does not fit is refused in a sentence.

    >>> measure([("keys", "M D", ((1, 2, 3),)), ("query", "D", (1, 2))], {})
    Traceback (most recent call last):
    ValueError: query has 2 entries: it needs D = 3 as in keys
    """
    sizes: Sizes = {}
    for name, shape, value in fields:
        if not isinstance(value, tuple):
            continue  # None, a number or a word in the place of a matrix
        dims = shape.split()
        found = _measured(name, value, dims)
        faults = [
            fault for pair in zip(dims, found, strict=True) for fault in _faults(name, *pair, sizes, limits)
        ]
        if faults:
            parts = [" x ".join(dims)] if len(dims) > 1 else []
            named = " and ".join(filter(None, dict.fromkeys(faults)))
            raise ValueError(f"{name} {_has(found)}: it needs {' with '.join(filter(None, [*parts, named]))}")
    return sizes


def _faults(
    name: str, dim: str, size: int, sizes: Sizes, limits: Mapping[str, tuple[int, int]]
) -> Iterator[str]:
    """What is wrong with the size of one dimension; a new letter gets its size."""
    low, high = limits.get(dim, (1, LARGEST))
    if dim.isidentifier() and dim not in sizes:
        sizes[dim] = (size, name)
        if not low <= size <= high:
            yield f"{dim} from {low} to {high}"
        return
    parts = dim.split("*")
    needed = math.prod(int(part) if part.isdigit() else sizes[part][0] for part in parts)
    if size != needed:
        # a number stands in the shape already: no words
        yield "" if dim.isdigit() else f"{dim} = {needed} as in {sizes[parts[0]][1]}"


def _measured(name: str, value: Any, dims: list[str]) -> tuple[int, ...]:
    """The shape of nested tuples with as many levels as there are dimensions."""
    shape, level = [len(value)], [value]
    for _ in dims[1:]:
        level = [item for outer in level for item in outer]
        lengths = sorted({len(item) for item in level}) or [0]
        if len(lengths) > 1:
            has = f"{' or '.join(map(str, lengths[:-1]))} or {counted(lengths[-1], 'entry')}"
            raise ValueError(f"{name} has rows of {has}: it needs {' x '.join(dims)}, rows of one length")
        shape.append(lengths[0])
    return tuple(shape)


def _has(shape: tuple[int, ...]) -> str:
    return f"has {counted(shape[0], 'entry')}" if len(shape) == 1 else f"is {' x '.join(map(str, shape))}"
