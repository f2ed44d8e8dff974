"""The form in which a student's values are checked: a field per value of the solution, and what it was sent.

Entries of a vector stand beside one another or below, rows of a matrix on lines of their own; matrices of a
stack have an empty line between them. An entry is written as `explain --check` takes it: a number, a fraction
or an expression; one with spaces in it needs commas between the entries.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vitruvius.core.errors import UserError
from vitruvius.teaching.solution import Solution, comparable

LONGEST = 20_000
"""Characters of one field."""


@dataclass(frozen=True)
class Field:
    """One value that a student may write down; `path` leads to it through the records of a solution."""

    path: tuple[str, ...]
    sizes: tuple[int, ...]
    """Lengths of its nested lists; empty for a single entry."""
    what: str = ""
    """What the value is, in words."""
    text: str = ""

    @property
    def name(self) -> str:
        """The name in the form, as a message of the check has it."""
        return ".".join(self.path)

    @property
    def hint(self) -> str:
        """What is to be written."""
        how = ("", "", ", a row per line", ", a row per line, an empty line between matrices")
        size = " x ".join(map(str, self.sizes)) + how[min(len(self.sizes), 3)]
        size += " entries" if len(self.sizes) == 1 else ""
        return "; ".join(part for part in (self.what, size) if part)

    @property
    def lines(self) -> int:
        """The height of its text area; a vector needs no more than one line."""
        rows = 1
        for size in self.sizes[:-1]:
            rows = rows * size + (rows - 1 if rows > 1 else 0)
        return min(10, max(rows, self.text.count("\n") + 1))


def fields(solution: Solution, sent: Mapping[str, str]) -> tuple[Field, ...]:
    """Return a field for every value that a sheet asks for, or for all where the lesson asks for none."""
    written = {name: line.what for name, line in solution.lines().items() if line.asked}
    asked = written or dict.fromkeys(solution.values, "")
    found = ((field, asked[name]) for name in asked for field in _fields((name,), solution.values[name]))
    return tuple(Field(one.path, one.sizes, what, sent.get(one.name, "")) for one, what in found)


def values(shown: tuple[Field, ...]) -> dict[str, Any]:
    """Return the values that were written into the form, nested as the solution has them."""
    found: dict[str, Any] = {}
    for field in shown:
        if len(field.text) > LONGEST:
            raise UserError(
                f"{field.name}: at most {LONGEST:,} characters are read, it has {len(field.text):,}"
            )
        if not field.text.strip():
            continue
        inner = found
        for part in field.path[:-1]:
            inner = inner.setdefault(part, {})
        inner[field.path[-1]] = read(field.text, len(field.sizes))
    return found


def read(text: str, depth: int) -> Any:
    """Return the entries of a text as lists of that depth.

    >>> read("1/2", 0), read("1, 1/2", 1), read("1  e^2\\n3  4", 2)
    ('1/2', ['1', '1/2'], [['1', 'e^2'], ['3', '4']])
    >>> read("1 2\\n3 4\\n\\n5 6\\n7 8", 3)[1]
    [['5', '6'], ['7', '8']]
    >>> read("1/(1 + e), 2", 1)
    ['1/(1 + e)', '2']
    """
    text = text.replace("\r\n", "\n").strip().strip("[]") if depth else text.strip()
    if depth == 0:
        return text
    if depth == 1:
        return _entries(text.replace("\n", ", " if "," in text else " "))
    if depth == 2:
        rows = [line.strip().strip("[],") for line in text.split("\n")]
        return [_entries(row) for row in rows if row]
    blocks = re.split(r"\n[ \t]*(?:\n[ \t]*)+", text)
    return [read(block, depth - 1) for block in blocks]


def _entries(line: str) -> list[str]:
    """The entries of a line: between commas or semicolons if there are any, otherwise between spaces."""
    parts = re.split("[,;]", line) if re.search("[,;]", line) else line.split()
    return [part.strip() for part in parts if part.strip()]


def _fields(path: tuple[str, ...], value: Any) -> Iterator[Field]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _fields((*path, str(key)), item)
    elif (sizes := _sizes(value)) is not None:
        yield Field(path, sizes)


def _sizes(value: Any) -> tuple[int, ...] | None:
    """Lengths of nested lists of one shape; None for what has no entry that can be compared."""
    if not isinstance(value, list | tuple):
        return () if comparable(value) else None
    inner = {_sizes(item) for item in value}
    if len(inner) != 1 or (size := inner.pop()) is None:
        return None
    return (len(value), *size)
