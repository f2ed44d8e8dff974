"""HTML of the pages, from the templates beside this file; blocks are drawn as in the reports.

Curves and points become elements that plotly draws in the browser. All names and texts are escaped.
"""

import json
import threading
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from itertools import groupby
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse, Response

from vitruvius.core import plugins
from vitruvius.core.blocks import Block, Lines, Panels, Scatter
from vitruvius.render import interactive
from vitruvius.render import page as report

_DRAWING = threading.Lock()  # matplotlib's settings are those of the process
STYLES = (
    plugins.PACKAGE / "render" / "templates" / "style.css",
    plugins.PACKAGE / "web" / "static" / "site" / "site.css",
)
TITLES = {
    400: "This request cannot be answered",
    401: "The token is missing",
    403: "Refused",
    404: "Not found",
    405: "Refused",
    408: "Too slow",
    413: "Too large",
    503: "Busy",
}


def page(template: str, title: str, here: str = "", status: int = 200, **content: Any) -> HTMLResponse:
    """One page of the site; `here` is the part of the navigation that it belongs to."""
    shown = _templates().get_template(template).render({"title": title, "here": here, "style": "", **content})
    return HTMLResponse(shown, status)


def sheets() -> str:
    """The style sheets of the site as one."""
    return "".join(path.read_text(encoding="utf-8") for path in STYLES)


def refusal(status: int, sentence: str) -> HTMLResponse:
    """A page that says in one sentence what was wrong."""
    title = TITLES.get(status, "This failed")
    content: dict[str, Any] = {"sentence": sentence, "needs_token": status == 401}
    # Whoever is not let in cannot load the style sheets either.
    style = Markup(sheets() if status in (401, 403) else "")  # nosec B704 # our own style sheets
    return page("refusal.html", title, status=status, style=style, **content)


def redirect(address: str) -> Response:
    """Send the browser to another address of this site."""
    return Response(status_code=303, headers={"Location": address})


def blocks(content: Iterable[Block], prefix: str = "", heading: str = "h2") -> Markup:
    """Blocks as HTML; curves and points answer to the pointer."""
    parts: list[str] = []
    for number, (is_plot, group) in enumerate(groupby(_unfolded(content), _is_plot), 1):
        if is_plot:
            plots = [plot(figure) for figure in group if isinstance(figure, Lines | Scatter)]
            parts.append(Markup('<div class="plots">{}</div>').format(Markup().join(plots)))
        else:
            with _DRAWING:
                parts.append(report.inner(group, f"{prefix}{number}-", heading))
    joined = "".join(parts)
    return Markup(joined)  # nosec B704 # every part is markup of our own making


def plot(figure: Lines | Scatter) -> Markup:
    """An element that plotly fills in the browser."""
    kind = "curves" if isinstance(figure, Lines) else "points"
    points = sum(len(one.x) for one in figure.series) if isinstance(figure, Lines) else len(figure.x)
    described = (
        f"{figure.title or figure.y_label}: {points} {kind} of {figure.y_label} against {figure.x_label}"
    )
    element = Markup('<div class="plot" role="figure" aria-label="{}" data-plot="{}"></div>')
    return element.format(described, json.dumps(interactive.drawing(figure), allow_nan=False))


def _is_plot(block: Block) -> bool:
    return isinstance(block, Lines | Scatter)


def _unfolded(content: Iterable[Block]) -> Iterable[Block]:
    """Take apart panels that hold nothing but curves and points: a page has room for each."""
    for block in content:
        if isinstance(block, Panels) and all(map(_is_plot, block.figures)):
            yield from block.figures
        else:
            yield block


@cache
def _templates() -> Environment:
    loader = ChoiceLoader([PackageLoader("vitruvius.web"), PackageLoader("vitruvius.render")])
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    made.globals |= {"version": version("vitruvius")}
    return made
