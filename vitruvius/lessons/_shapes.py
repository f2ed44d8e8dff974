"""Shapes in the types of a question: `Annotated[Matrix, "N D"]`, where equal letters mean equal sizes.

A dimension is a letter, a number ("3 D") or a product ("H*E D"). The first field that has a letter fixes its
size."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

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
            named = " and ".join(filter(None, faults))
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


def counted(count: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "entry"), counted(2, "entry"), counted(0, "row")
    ('1 entry', '2 entries', '0 rows')
    """
    many = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count} {noun if count == 1 else many}"


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


Rows = Sequence[Sequence[Any]]


def matrix(
    field: str, rows: Rows, most: tuple[int, int] = (LARGEST, LARGEST), least: int = 1
) -> tuple[int, int]:
    """Rows and columns of a matrix: at least `least` rows, at most `most` of each, all of one length.

    >>> matrix("x", [[1, 2], [3]])
    Traceback (most recent call last):
    ValueError: x has 2 rows of 1 or 2 entries: it needs 1 to 64 rows of one length, 1 to 64
    """
    lengths = {len(row) for row in rows}
    if len(lengths) != 1 or not least <= len(rows) <= most[0] or not 1 <= min(lengths) <= most[1]:
        raise ValueError(
            f"{field} {_has_rows(rows)}: it needs {least} to {most[0]} rows of one length, 1 to {most[1]}"
        )
    return len(rows), len(rows[0])


def exactly(field: str, rows: Rows, count: int, length: int) -> None:
    """Refuse a matrix of another size.

    >>> exactly("u", [[1, 2]], 2, 2)
    Traceback (most recent call last):
    ValueError: u has 1 row of 2 entries: it needs 2 x 2
    """
    if [len(row) for row in rows] != [length] * count:
        raise ValueError(f"{field} {_has_rows(rows)}: it needs {count} x {length}")


def vector(field: str, entries: Sequence[Any], length: int, each: str) -> None:
    """Refuse a vector of another length.

    >>> vector("y", (1,), 2, "row of x")
    Traceback (most recent call last):
    ValueError: y has 1 entry: it needs 2, one for each row of x
    """
    if len(entries) != length:
        raise ValueError(
            f"{field} has {counted(len(entries), 'entry')}: it needs {length}, one for each {each}"
        )


def attended(question: Any, names: tuple[str, str, str], most: int = LARGEST, keys: int = 1) -> None:
    """Refuse queries, keys and values (fields of a question, one vector per row) that cannot meet."""
    query, key, value = names
    _, query_length = matrix(query, getattr(question, query), (LARGEST, most))
    count, key_length = matrix(key, getattr(question, key), (LARGEST, most), least=keys)
    values, _ = matrix(value, getattr(question, value), (LARGEST, most))
    if query_length != key_length:
        raise ValueError(
            f"{query} has rows of length {query_length}: it needs the length of {key}, {key_length}"
        )
    if values != count:
        raise ValueError(f"{value} has {counted(values, 'row')}: it needs {count}, one for each key")


def recurrent(question: Any, longest: int, widest: int) -> None:
    """Refuse matrices w, u and v, inputs and targets (fields of a question) that make no recurrent net."""
    hidden, width = matrix("w", question.w, (widest, widest))
    steps, _ = matrix("inputs", question.inputs, (longest, widest))
    outputs, _ = matrix("v", question.v, (widest, widest))
    sizes = {
        "u": (hidden, hidden),
        "v": (outputs, hidden),
        "inputs": (steps, width),
        "targets": (steps, outputs),
    }
    for field, size in sizes.items():
        exactly(field, getattr(question, field), *size)


def _has_rows(rows: Rows) -> str:
    lengths = sorted({len(row) for row in rows})
    if not lengths:
        return "has no rows"
    entries = counted(lengths[-1], "entry")
    others = "".join(f"{length} or " for length in lengths[:-1])
    return f"has {counted(len(rows), 'row')} of {others}{entries}"
