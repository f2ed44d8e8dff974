"""Rectangles of characters, joined along their baselines: what formulas on a terminal are made of."""

import unicodedata
from collections.abc import Sequence
from itertools import cycle, zip_longest
from typing import NamedTuple

WIDE, HIGH = 12, 16  # columns and rows up to which a matrix is shown whole
TALL = {"(": "⎛⎜⎝", ")": "⎞⎟⎠", "[": "⎡⎢⎣", "]": "⎤⎥⎦", "|": "│││", "{": "⎧⎪⎩", "}": "⎫⎪⎭"}
NO_OPERAND = ("start", "open", "relation", "operator", "sign", "comma", "space", "quad")
"""After one of these a plus or minus is the sign of what follows."""


class Box(NamedTuple):
    """A rectangle of characters."""

    lines: tuple[str, ...]
    base: int = 0  # the line that is level with its neighbours
    kind: str = "atom"  # atom, name, block, operator, sign, relation, comma, open, close, space or quad

    @property
    def width(self) -> int:
        """Columns it takes."""
        return max(map(columns, self.lines), default=0)

    @property
    def flat(self) -> str:
        """Its text if it is one line, otherwise nothing."""
        return self.lines[0] if len(self.lines) == 1 else ""


def sign(text: str, kind: str = "atom") -> Box:
    """A box of one line."""
    return Box((text,), 0, kind)


def joined(boxes: Sequence[Box]) -> Box:
    """Boxes side by side along their baselines, with the spaces that their kinds ask for."""
    above = max((box.base for box in boxes), default=0)
    below = max((len(box.lines) - box.base for box in boxes), default=1)
    lines = [""] * (above + below)
    before = "start"
    for box in boxes:
        kind = "sign" if box.kind == "operator" and before in NO_OPERAND else box.kind
        gap = _gap(before, kind)
        for index in range(above + below):
            inside = index - above + box.base
            line = box.lines[inside] if 0 <= inside < len(box.lines) else ""
            lines[index] += gap + padded(line, box.width)
        before = kind
    return Box(tuple(lines), above, boxes[0].kind if len(boxes) == 1 else "atom")


def _gap(before: str, kind: str) -> str:
    """The space between two neighbours: around relations and operators, none after a sign."""
    if before in ("start", "open", "space", "quad", "sign") or kind in ("space", "quad", "comma", "close"):
        return ""
    if "relation" in (before, kind) or "operator" in (before, kind) or before == "comma":
        return " "
    named = kind == "name" or (before == "name" and kind not in ("open", "block"))
    return " " if named or "block" in (before, kind) else ""


def fenced(inner: Box, left: str, right: str) -> Box:
    """A box between delimiters as tall as itself."""
    height = len(inner.lines)
    if height == 1:
        return sign(f"{left}{inner.flat}{right}", "block" if "  " in inner.flat else "atom")
    sides = [_tall(end, height) for end in (left, right)]
    if left == "{" and height > 2:
        sides[0][inner.base] = "⎨"
    rows = zip(sides[0], inner.lines, sides[1], strict=True)
    return Box(tuple(a + padded(line, inner.width) + b for a, line, b in rows), inner.base, "block")


def _tall(end: str, height: int) -> list[str]:
    if end not in TALL:
        return [end] * height
    return [TALL[end][0], *TALL[end][1] * (height - 2), TALL[end][2]]


def stacked(above: Box, below: Box) -> Box:
    """A fraction with its bar."""
    width = max(above.width, below.width)
    over, under = ([line.center(width) for line in box.lines] for box in (above, below))
    return Box((*over, "─" * width, *under), len(above.lines), "block")


def grid(rows: Sequence[Sequence[Box]], sides: str, gap: str) -> Box:
    """Cells in columns; `sides` says for each in turn whether it is flush left (`l`) or right (`r`)."""
    widths = [max(box.width for box in column) for column in zip_longest(*rows, fillvalue=sign(""))]
    lines: list[str] = []
    for row in rows:
        spaced: list[Box] = []
        for box, width, side in zip(row, widths, cycle(sides), strict=False):
            cell = Box(tuple(padded(line, width, side) for line in box.lines), box.base, "space")
            spaced += [sign(gap, "space"), cell]
        lines += joined(spaced[1:]).lines
    return Box(tuple(lines) or ("",), max(len(lines) - 1, 0) // 2)


def elided(rows: list[list[Box]]) -> list[list[Box]]:
    """A matrix without its middle rows and columns if it is large; the file formats show it whole."""
    if max(map(len, rows), default=0) > WIDE:
        rows = [[*row[: WIDE - 4], sign("⋯"), *row[-3:]] for row in rows]
    if len(rows) > HIGH:
        rows = [*rows[: HIGH - 4], [sign("⋮") for _ in rows[0]], *rows[-3:]]
    return rows


def padded(line: str, width: int, side: str = "l") -> str:
    """A line filled with spaces to a width, flush left (`l`) or right (`r`)."""
    space = " " * (width - columns(line))
    return line + space if side == "l" else space + line


def columns(line: str) -> int:
    """Columns that a line takes on a terminal: combining accents take none."""
    return sum(not unicodedata.combining(letter) for letter in line)
