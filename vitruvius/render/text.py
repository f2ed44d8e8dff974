"""Blocks as plain text, as Markdown, and values as JSON."""

import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from vitruvius.core.blocks import Block, Formula, Table, Text
from vitruvius.core.visible import visible
from vitruvius.render import cells, terminal

TAG = re.compile(r"<(?=[A-Za-z/!?])")
"""What HTML would take for the beginning of an element."""
HEADING = re.compile(r"^( {0,3})(#{1,6}(?=\s|$)|>|=+[ \t]*$|-+[ \t]*$)", re.MULTILINE)
"""What Markdown would take for a heading, a quotation or a rule at the beginning of a line."""


def plain(blocks: Iterable[Block]) -> str:
    """Blocks as a text file: what a terminal of 100 columns without colours shows."""
    from rich.console import Console

    file = io.StringIO()
    console = Console(file=file, width=terminal.FORMULA_WIDTH, highlight=False, color_system=None)
    terminal.show(blocks, console)
    return file.getvalue()


def markdown(blocks: Iterable[Block], pictures: Sequence[str] = ()) -> str:
    """Blocks as Markdown; `pictures` are the files that hold their figures, in order."""
    files = iter(pictures)
    return "\n\n".join(filter(None, (_markdown(block, files) for block in blocks))) + "\n"


def as_json(value: Any) -> str:
    """One JSON document, indented; NaN is refused."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)


def _inert(text: str) -> str:
    r"""Return a text whose names cannot become HTML, links, pictures or fences in Markdown.

    >>> _inert("a <b>, ![x](y), [z]: u, 1 < 2")
    'a &lt;b>, ![x]\\(y), [z]\\: u, 1 < 2'
    """
    shown = re.sub(r"\](?=[(\[:])", r"]\\", TAG.sub("&lt;", visible(text)))
    return re.sub(r"`{3,}|~{3,}", lambda fence: "".join(f"\\{sign}" for sign in fence[0]), shown)


def _paragraph(text: str) -> str:
    r"""Return an inert text whose lines begin nothing in Markdown.

    >>> _paragraph("a\n# b")
    'a\n\\# b'
    """
    return HEADING.sub(r"\1\\\2", _inert(text))


def one_line(text: str) -> str:
    """Return an inert text without line breaks, for a heading or a title."""
    return " ".join(_inert(text).split("\n"))


def _markdown(block: Block, pictures: Iterator[str]) -> str:
    if isinstance(block, Text) and block.style == "code":
        inside = visible(block.text)
        # A fence ends at one that is as long: this one is longer than any inside.
        fence = "`" * (1 + max([2, *map(len, re.findall("`+", inside))]))
        return f"{fence}\n{inside}\n{fence}"
    if isinstance(block, Text):
        return f"## {one_line(block.text)}" if block.style == "title" else _paragraph(block.text)
    if isinstance(block, Formula):
        return f"$$\n{TAG.sub('< ', visible(block.latex))}\n$$"
    if isinstance(block, Table):
        names, *rows = cells.lines(block)
        rule = tuple("---:" if numeric else "---" for numeric in cells.numeric(block))
        escaped = [names, *rows]
        escaped = [
            tuple(_inert(text).replace("|", "\\|").replace("\n", " ") for text in line) for line in escaped
        ]
        grid = "\n".join(f"| {' | '.join(line)} |" for line in (escaped[0], rule, *escaped[1:]))
        title = f"**{one_line(block.title)}**" if block.title else ""
        return "\n\n".join(filter(None, [title, grid, _paragraph(block.note)]))
    file = next(pictures, "")
    alternative = re.sub(r"(?<!\\)([\[\]])", r"\\\1", one_line(block.title))
    return f"![{alternative}]({file})" if file else ""
