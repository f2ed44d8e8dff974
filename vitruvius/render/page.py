"""Blocks as one self-contained HTML page, or as a fragment of one, from the templates beside this file.

Formulas are MathML, figures inline SVG; nothing is loaded from the network.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from vitruvius.core.blocks import Block, Formula, Lines, Scatter, Table, Text
from vitruvius.render import cells, figures, mathml, policy
from vitruvius.render.interactive import element as interactive_element
from vitruvius.render.interactive import script as plotly_script

if TYPE_CHECKING:
    from jinja2 import Environment

SCRIPTS = re.compile(r"<script[^>]*>(.*?)</script>", re.DOTALL)
Element = tuple[str, Any]  # what `blocks.html` shows: the kind of an element and its content


def page(
    title: str, blocks: Iterable[Block], *, interactive: bool = False, script: str = "", data: Any = None
) -> str:
    """One page; `interactive` makes points and curves answer to the pointer, which adds plotly's 4 MB.

    `script` is JavaScript of our own to run when the page is loaded. It finds `data`, whatever names that
    holds, with `JSON.parse(document.getElementById("data").textContent)`.
    """
    elements = list(_elements(blocks, "", interactive))
    plotly = policy.as_parsed(plotly_script()) if interactive else ""
    written = [plotly] if interactive else []
    written += [found for kind, content in elements if kind == "figure" for found in SCRIPTS.findall(content)]
    written += [f"\n{script}\n"] if script else []
    shown = {"plotly": plotly, "script": script, "data": data}
    return _whole(title, written, elements=elements, **shown)


def book(title: str, parts: Mapping[str, Mapping[str, Iterable[Block]]]) -> str:
    """One page of many: the chapters of each part by name, with a table of contents beside them."""
    chapters = [(part, [_chapter(*chapter) for chapter in named.items()]) for part, named in parts.items()]
    return _whole(title, parts=chapters)


def fragment(blocks: Iterable[Block]) -> str:
    """Blocks as one `<div>` with its own style, for a notebook; no rule of the style reaches outside it."""
    shown = list(blocks)
    # Ids must differ from those of other fragments in the same notebook.
    prefix = "v" + hashlib.sha256(repr(shown).encode()).hexdigest()[:12]
    return _rendered("fragment.html", elements=list(_elements(shown, prefix)))


def inner(blocks: Iterable[Block], prefix: str = "", heading: str = "h2") -> str:
    """Blocks as HTML without a style or a page around them; the ids of figures begin with `prefix`."""
    return _rendered("inner.html", elements=list(_elements(blocks, prefix)), heading=heading)


def style() -> str:
    """The style sheet of a page."""
    return "\n".join(_rendered(name) for name in ("style.css", "page.css"))


def _whole(title: str, scripts: Iterable[str] = (), **content: Any) -> str:
    """A page whose policy allows its style and these scripts, and what plotly needs if the page has it."""
    sheet = style()
    allowed = policy.of_page(sheet, scripts, with_plotly=bool(content.get("plotly")))
    return _rendered("page.html", title=title, style=sheet, policy=allowed, **content)


@cache
def _templates() -> "Environment":
    from jinja2 import Environment, PackageLoader

    return Environment(loader=PackageLoader("vitruvius.render"), autoescape=True, keep_trailing_newline=True)


def _rendered(template: str, **content: Any) -> str:
    return _templates().get_template(template).render(content)


def _chapter(name: str, blocks: Iterable[Block]) -> dict[str, Any]:
    anchor = _anchor(name)
    return {"name": name, "anchor": anchor, "elements": list(_elements(blocks, f"{anchor}-"))}


def _elements(blocks: Iterable[Block], prefix: str, with_plotly: bool = False) -> Iterator[Element]:
    """What the template shows of each block; the ids of figures begin with `prefix`."""
    for number, block in enumerate(blocks, 1):
        if isinstance(block, Text):
            if block.text:
                yield block.style, block.text
        elif isinstance(block, Formula):
            yield "formula", mathml.parts(block.latex)
        elif isinstance(block, Table):
            named = {"title": block.title, "note": block.note}
            columns = zip(cells.numeric(block), cells.short(block), strict=True)
            kinds = ["number" if numeric else "short" if short else "long" for numeric, short in columns]
            yield "table", {**named, "lines": cells.lines(block), "kinds": kinds}
        elif with_plotly and isinstance(block, Lines | Scatter):
            yield "figure", interactive_element(block, f"{prefix}plot{number}")
        else:
            yield "figure", figures.svg(block, f"{prefix}f{number}-")


def _anchor(name: str) -> str:
    """A name as an id of the page.

    >>> _anchor("Earth mover's distance")
    'earth-mover-s-distance'
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
