"""The change of a source file as data: lines that are replaced, shown as a diff and applied to a text."""

import difflib
import io
from collections.abc import Sequence

from vitruvius.core.config import Strict


class Edit(Strict):
    """The lines `old`, the first of them number `line`, become `new`; no `old`: `new` comes before it."""

    line: int
    old: tuple[str, ...] = ()
    new: tuple[str, ...] = ()


class Patch(Strict):
    """The edits of one file that belong together, by line."""

    file: str
    edits: tuple[Edit, ...]
    note: str = ""
    """What else the reader should know about the change."""


class NoMatch(Exception):
    """An edit names lines that the text does not have."""


def applied(text: str, edits: Sequence[Edit]) -> str:
    r"""The text after the edits, with its own line ends; `NoMatch` if it is not the text they were made for.

    >>> applied("a\r\nb\r\n", [Edit(line=2, old=("b",), new=("c", "d"))])
    'a\r\nc\r\nd\r\n'
    """
    lines = io.StringIO(text, newline="").readlines()
    end = next((line[len(line.rstrip("\r\n")) :] for line in lines if line.endswith(("\r", "\n"))), "\n")
    if lines and not lines[-1].endswith(("\r", "\n")):
        lines[-1] += end
    last = len(lines) + 1
    for edit in sorted(edits, key=lambda edit: edit.line, reverse=True):
        start, stop = edit.line - 1, edit.line - 1 + len(edit.old)
        if not 0 <= start <= len(lines) or stop > last or stop > len(lines):
            raise NoMatch(f"line {edit.line}")
        if [line.rstrip("\r\n") for line in lines[start:stop]] != list(edit.old):
            raise NoMatch(f"line {edit.line}")
        lines[start:stop] = [line + end for line in edit.new]
        last = start
    return "".join(lines)


def diff(before: str, after: str, name: str) -> str:
    """The difference of two texts, as `patch` reads it."""
    plain = (io.StringIO(text, newline=None).read() for text in (before, after))
    old, new = (text.removesuffix("\n").split("\n") for text in plain)
    return "\n".join(difflib.unified_diff(old, new, f"a/{name}", f"b/{name}", lineterm=""))
