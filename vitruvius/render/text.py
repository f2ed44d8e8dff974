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


def _one_line(text: str) -> str:
    """Return an inert text without line breaks, for a heading or a title."""
    return " ".join(_inert(text).split("\n"))


def _markdown(block: Block, pictures: Iterator[str]) -> str:
    if isinstance(block, Text) and block.style == "code":
        return f"```\n{visible(block.text).replace('```', '')}\n```"
    if isinstance(block, Text):
        return f"## {_one_line(block.text)}" if block.style == "title" else _inert(block.text)
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
        title = f"**{_one_line(block.title)}**" if block.title else ""
        return "\n\n".join(filter(None, [title, grid, _inert(block.note)]))
    file = next(pictures, "")
    alternative = re.sub(r"(?<!\\)([\[\]])", r"\\\1", _one_line(block.title))
    return f"![{alternative}]({file})" if file else ""
