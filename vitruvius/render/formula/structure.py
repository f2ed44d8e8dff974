r"""Where a LaTeX formula may be broken: at quads and before relations that stand in no group.

A group is what stands between braces, `\left` and `\right`, or `\begin` and `\end`.
"""

import re

from vitruvius.render.formula import symbols

TOKEN = re.compile(r"\\[a-zA-Z]+\*?|\\.|\d+(?:\.\d+)?|\s+|.", re.DOTALL)
OPENERS, CLOSERS = ("{", "\\begin", "\\left"), ("}", "\\end", "\\right")
QUADS = tuple(f"\\{name}" for name in symbols.QUADS)
RELATIONS = ("=", "<", ">", *(f"\\{name}" for name in symbols.RELATIONS))


def between_quads(latex: str) -> list[str]:
    r"""The parts of a formula between quads.

    >>> between_quads(r"a = 1, \quad A = \begin{bmatrix} 1 \quad 2 \end{bmatrix}")
    ['a = 1,', 'A = \\begin{bmatrix} 1 \\quad 2 \\end{bmatrix}']
    """
    parts = [""]
    for piece in pieces(latex):
        if piece in QUADS:
            parts.append("")
        else:
            parts[-1] += piece
    return [part.strip() for part in parts if part.strip()]


def before_relations(latex: str) -> list[str]:
    r"""The parts of a formula that begin with its relations; none begins inside parentheses.

    >>> before_relations(r"f(a = 1) = \frac{1}{2} \leq 3")
    ['f(a = 1) ', '= \\frac{1}{2} ', '\\leq 3']
    """
    parts, depth = [""], 0
    for piece in pieces(latex):
        depth += (piece in ("(", "[")) - (piece in (")", "]"))
        if depth == 0 and piece in RELATIONS and parts[-1].strip():
            parts.append("")
        parts[-1] += piece
    return parts


def pieces(latex: str) -> list[str]:
    r"""The tokens that stand in no group, and each whole group as one piece.

    >>> pieces(r"x + \left( 1 \right)")
    ['x', ' ', '+', ' ', '\\left( 1 \\right)']
    """
    found: list[str] = []
    depth, unfinished = 0, False
    for token in TOKEN.findall(latex):
        if depth == 0 and not unfinished:
            found.append("")
        found[-1] += token
        depth = max(0, depth + (token in OPENERS) - (token in CLOSERS))
        # The name after \end and the delimiter after \right still belong to the group.
        unfinished = depth == 0 and (token in ("\\end", "\\right") or (unfinished and token.isspace()))
    return found
