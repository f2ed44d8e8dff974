r"""LaTeX formulas as text on a terminal: fractions, matrices, Greek letters, small indices.

A command that is not known here is shown by its name; no formula is refused.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial

from vitruvius.render.formula import structure, symbols
from vitruvius.render.formula.boxes import Box, elided, fenced, grid, joined, padded, sign, stacked

SIGNS = {"=": "relation", "<": "relation", ">": "relation", "+": "operator", "-": "operator", ",": "comma"}
SIGNS |= {"(": "open", "[": "open", ")": "close", "]": "close"}
FENCES = {"bmatrix": ("[", "]"), "pmatrix": ("(", ")"), "vmatrix": ("|", "|"), "Vmatrix": ("‖", "‖")}
ALIGNED = ("aligned", "align", "align*", "split", "gathered", "gather*")
UPRIGHT = ("mathrm", "text", "textbf", "textit", "mathtt", "texttt", "mbox")
TRANSPARENT = ("mathbf", "boldsymbol", "mathcal", "bm", "mathit", "mathsf", "boxed")
INVISIBLE = ("displaystyle", "textstyle", "limits", "nolimits", "right", "bigr", "Bigr", "biggr")


def text(latex: str, width: int = 100) -> str:
    r"""A formula as lines of text, broken where it can be so that they stay within the width.

    >>> print(text(r"A = \begin{bmatrix} 1 & \frac{1}{2} \\ 0 & 4 \end{bmatrix}, \quad x_1^2 \leq \sqrt{3}"))
    A = ⎡1  1/2⎤,   x₁² ≤ √3
        ⎣0    4⎦
    """
    lines = [line for part in _parts(latex, width) for line in _broken(Reader(part).row(), width)]
    return "\n".join(row.rstrip() for line in lines for row in joined(line).lines)


def _parts(latex: str, width: int) -> list[str]:
    """A formula cut at quads into parts that are at most that many columns wide, where it can be."""
    found: list[str] = []
    for piece in structure.between_quads(latex):
        longer = rf"{found[-1]} \quad {piece}" if found else piece
        if found and joined(Reader(longer).row()).width <= width:
            found[-1] = longer
        else:
            found.append(piece)
    return found


def _broken(boxes: Sequence[Box], width: int) -> list[list[Box]]:
    """One formula in lines that are at most `width` columns wide where it has relations to begin them."""
    lines: list[list[Box]] = [[]]
    for box in boxes:
        if box.kind == "relation" and joined(lines[-1]).width > 0:
            lines.append([])
        lines[-1].append(box)
    packed = lines[:1]
    for line in lines[1:]:
        if joined([*packed[-1], *line]).width <= width:
            packed[-1] += line
        else:
            packed.append([sign("   ", "space"), *line])
    return packed


class Reader:
    """Reads tokens from left to right into boxes."""

    def __init__(self, latex: str) -> None:
        self.tokens: list[str] = structure.TOKEN.findall(latex)
        self.index = 0
        self.depth = 0  # in matrices, indices and fractions: a fraction stays on one line there
        self.commands: dict[str, Callable[[], Box]] = {
            **dict.fromkeys(("frac", "tfrac", "dfrac"), self._fraction),
            "sqrt": self._root,
            "left": self._fence,
            "begin": self._environment,
            **dict.fromkeys(("underbrace", "overbrace"), self._braced),
            "mathbb": lambda: sign("".join(symbols.DOUBLE.get(letter, letter) for letter in self._words())),
            **dict.fromkeys(("operatorname", "operatorname*"), lambda: sign(self._words(), "name")),
            **dict.fromkeys(UPRIGHT, lambda: sign(self._words())),
            **dict.fromkeys(INVISIBLE, lambda: sign("", "space")),
            **dict.fromkeys(TRANSPARENT, self._argument),
            **{name: partial(self._accented, accent) for name, accent in symbols.ACCENTS.items()},
        }

    def row(self, *ends: str) -> list[Box]:
        """Boxes up to a token that ends the row, which stays."""
        boxes: list[Box] = []
        while (token := self._peek()) and token not in (*ends, "\\end"):
            if token in ("^", "_", "'"):
                boxes.append(self._indexed(boxes.pop() if boxes else sign("")))
                continue
            apart = self.tokens[self.index].isspace()
            box = self._box()
            if apart and boxes and boxes[-1].kind == box.kind == "atom" and boxes[-1].flat and box.flat:
                boxes.append(sign(" ", "space"))
            boxes.append(box)
        return boxes

    def _peek(self) -> str:
        """The next token that is not space; empty at the end."""
        return next((token for token in self.tokens[self.index : self.index + 2] if not token.isspace()), "")

    def _next(self) -> str:
        token = self._peek()
        self.index += 1 + (self.index < len(self.tokens) and self.tokens[self.index].isspace())
        return token

    def _argument(self) -> Box:
        """What a command takes: a group in braces or one token."""
        if self._peek() != "{":
            return self._box() if self._peek() else sign("")
        self._next()
        inner = joined(self.row("}"))
        self._next()
        return inner

    def _inner(self) -> Box:
        self.depth += 1
        found = self._argument()
        self.depth -= 1
        return found

    def _words(self) -> str:
        """A group in braces as it is written."""
        if self._next() != "{":
            return ""
        depth, start = 1, self.index
        while depth and self.index < len(self.tokens):
            depth += {"{": 1, "}": -1}.get(self.tokens[self.index], 0)
            self.index += 1
        return re.sub(r"\\(.)", r"\1", "".join(self.tokens[start : self.index - 1]))

    def _box(self) -> Box:
        """One atom: a sign, a group or a command with its arguments."""
        if self._peek() == "{":
            return self._argument()
        token = self._next()
        if not token.startswith("\\"):
            return sign(token.replace("-", "−").replace("~", " "), SIGNS.get(token, "atom"))
        name = token[1:]
        for kind, table in symbols.KINDS.items():
            if name in table:
                return sign(table[name], kind)
        return self.commands[name]() if name in self.commands else sign(name)

    def _fraction(self) -> Box:
        above, below = self._inner(), self._inner()
        if above.flat and below.flat and (self.depth or (_is_simple(above.flat) and _is_simple(below.flat))):
            return sign(f"{_grouped(above.flat)}/{_grouped(below.flat)}")
        return stacked(above, below)

    def _root(self) -> Box:
        degree = ""
        if self._peek() == "[":
            self._next()
            degree = _script("", joined(self.row("]")).flat)
            self._next()
        inner = self._inner()
        if inner.flat:
            return sign(f"{degree}√{_grouped(inner.flat)}")
        return joined([sign("√"), fenced(inner, "(", ")")])

    def _fence(self) -> Box:
        left = self._delimiter()
        inner = joined(self.row("\\right"))
        self._next()
        return fenced(inner, left, self._delimiter())

    def _delimiter(self) -> str:
        token = self._next()
        known = symbols.KINDS["open"] | symbols.KINDS["close"] | symbols.KINDS["bar"]
        return known.get(token[1:], token[1:]) if token.startswith("\\") else token.replace(".", "")

    def _accented(self, accent: str) -> Box:
        inner = self._argument()
        return sign(inner.flat + accent) if len(inner.flat) == 1 else inner

    def _braced(self) -> Box:
        """What stands over or under a brace, with its remark in parentheses behind it."""
        first = self._argument()
        if self._peek() not in ("_", "^"):
            return first
        self._next()
        return joined([first, sign(f" ({self._inner().flat})")])

    def _environment(self) -> Box:
        name = self._words()
        if name == "array":
            self._words()
        self.depth += name not in ALIGNED
        rows: list[list[Box]] = [[]]
        while self._peek() not in ("", "\\end"):
            rows[-1].append(joined(self.row("&", "\\\\")))
            if self._peek() in ("&", "\\\\") and self._next() == "\\\\":
                rows.append([])
        self.depth -= name not in ALIGNED
        self._next()
        self._words()
        rows = [row for row in rows if row]
        if name in ALIGNED:
            return grid(rows, "rl", " ")
        if name == "cases":
            return fenced(grid(rows, "l", "  "), "{", "")
        return fenced(grid(elided(rows), "r", "  "), *FENCES.get(name, ("", "")))

    def _indexed(self, box: Box) -> Box:
        """The box with the indices and exponents that follow it."""
        parts = {"_": "", "^": ""}
        while self._peek() in ("^", "_", "'"):
            mark = self._next()
            parts["^" if mark == "'" else mark] += "′" if mark == "'" else self._inner().flat
        below, above = _script("_", parts["_"]), _script("^", parts["^"])
        if box.flat or len(box.lines) == 1:
            return Box((box.flat + below + above,), 0, box.kind)
        tails = [above, *[""] * (len(box.lines) - 2), below]
        lines = (padded(line, box.width) + tail for line, tail in zip(box.lines, tails, strict=True))
        return Box(tuple(lines), box.base, box.kind)


def _script(mark: str, inner: str) -> str:
    """An index in small characters where they exist, otherwise behind its mark."""
    table = symbols.SUBSCRIPT if mark == "_" else symbols.SUPERSCRIPT
    letters = inner.replace(" ", "").replace("−", "-")
    if all(letter in table for letter in letters):
        return "".join(table[letter] for letter in letters)
    return f"{mark}{inner}" if len(inner) == 1 or inner.isalnum() else f"{mark}({inner})"


def _is_simple(inner: str) -> bool:
    return not any(letter in inner.lstrip("−") for letter in " +−/=^Σ")


def _grouped(inner: str) -> str:
    return inner if _is_simple(inner) else f"({inner})"
