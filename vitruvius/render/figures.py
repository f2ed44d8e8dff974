"""Figures as PNG files and as inline SVG, drawn by matplotlib without pyplot's global state."""

import html
import io
import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vitruvius.core import files
from vitruvius.core.blocks import Figure, Panels
from vitruvius.core.config import Strict
from vitruvius.render import cells

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas
    from matplotlib.figure import FigureBase

DPI = 150
LONGEST_TITLE, LONGEST_NAME = 150, 60  # letters that are drawn
INK = "#1b1f24"
"""The colour of text and axes in the style file; inline SVG has the page's own text colour instead."""
STYLE = Path(__file__).parent / "templates" / "figures.mplstyle"
SVG_SIZE = re.compile(r'<svg xmlns:xlink="[^"]*" width="([^"]*)" height="[^"]*"')
SVG_NOT_SHOWN = re.compile(r'<metadata>.*?</metadata>\s*|<style type="text/css">[^<]*</style>', re.DOTALL)
SVG_STYLE = re.compile(r'(<\w[^<>]*?) style="([^"]*)"')
FONT = re.compile(r"(?:(?P<style>[a-z]+) )?(?:(?P<weight>\d+) )?(?P<size>\S+px) (?P<family>.+)")
SVG_IDS = re.compile(r'(\bid="|href="#|url\(#)')


def write_png(figure: Figure, path: Path) -> None:
    """Write a figure as a PNG file on white, atomically."""
    content = io.BytesIO()
    with drawn(figure) as canvas:
        # No metadata: the same figure gives the same bytes whichever version of matplotlib draws it.
        canvas.savefig(content, format="png", dpi=DPI, facecolor="white", metadata={"Software": None})
    files.write(path, content.getvalue())


def svg(figure: Figure, prefix: str = "") -> str:
    """A figure as an `<svg>` element that takes the colour of the text around it.

    All its ids begin with `prefix`, so that two figures of one page never share an id.
    """
    content = io.StringIO()
    with drawn(figure) as canvas:
        canvas.savefig(content, format="svg", dpi=DPI, metadata={"Date": None, "Creator": None})
    element = content.getvalue()
    element = element[element.index("<svg") :].replace(INK, "currentColor")
    element = SVG_NOT_SHOWN.sub("", element)
    element = SVG_STYLE.sub(lambda tag: tag[1] + _attributes(tag[2]), element)
    element = SVG_IDS.sub(rf"\g<1>{prefix}", element)
    # The ends and corners of lines are what matplotlib's own style sheet says, which would hold for the page.
    opening = '<svg role="img" stroke-linejoin="round" stroke-linecap="butt"'
    named = f'{opening} aria-label="{html.escape(figure.title)}"'
    return SVG_SIZE.sub(lambda size: f'{named} width="{size[1]}"', element, count=1).strip()


def _attributes(style: str) -> str:
    """A style attribute of an SVG element as attributes of its own: the policy of a page refuses styles.

    >>> _attributes("fill: none; stroke-width: 0.8")
    ' fill="none" stroke-width="0.8"'
    >>> _attributes("font: 9px serif; text-anchor: end")
    ' text-anchor="end" font-size="9px" font-family="serif"'
    """
    found = dict(re.split(r":\s*", part, maxsplit=1) for part in re.split(r";\s*", style) if part)
    font = FONT.fullmatch(found.pop("font", ""))  # as older versions of matplotlib write it
    found |= {f"font-{name}": value for name, value in font.groupdict().items() if value} if font else {}
    return "".join(f' {name}="{value}"' for name, value in found.items())


@contextmanager
def drawn(figure: Figure) -> "Iterator[Canvas]":
    """The figure drawn by matplotlib, while the settings hold that it must also be saved with."""
    from matplotlib import rc_context, rc_params_from_file
    from matplotlib.figure import Figure as Canvas

    from vitruvius.render import charts, diagrams

    # matplotlib logs that it builds its font cache, which no user of ours needs to know.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    settings = rc_params_from_file(STYLE, use_default_template=False)
    with rc_context(settings), warnings.catch_warnings():
        # A name in a script that the font lacks shows as boxes.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        # Names that leave no room for the axes are drawn over them.
        warnings.filterwarnings("ignore", message="constrained_layout not applied")
        canvas = Canvas(layout="constrained", facecolor="none")
        canvas.set_size_inches(*_draw(_shortened(figure), canvas, {**charts.DRAW, **diagrams.DRAW}))
        yield canvas


def _shortened(drawing: Any, most: int = LONGEST_TITLE) -> Any:
    """The same figure with its names cut to what a picture can hold: thousands of letters take minutes."""
    if isinstance(drawing, str):
        return cells.shortened(drawing, most)
    if isinstance(drawing, Strict):
        fields = {name: getattr(drawing, name) for name in type(drawing).model_fields if name != "kind"}
        return drawing.model_copy(update={name: _shortened(value) for name, value in fields.items()})
    if isinstance(drawing, tuple) and drawing and isinstance(drawing[0], str | Strict):
        return tuple(_shortened(part, LONGEST_NAME) for part in drawing)
    return drawing


def _draw(figure: Figure, canvas: "FigureBase", draw: dict[type, Any]) -> tuple[float, float]:
    """Draw onto a canvas or a part of one; returns its width and height in inches."""
    if not isinstance(figure, Panels):
        return draw[type(figure)](figure, canvas)
    columns = max(1, min(figure.columns, len(figure.figures)))
    rows = max(1, -(-len(figure.figures) // columns))
    parts = canvas.subfigures(rows, columns, squeeze=False).flat
    sizes = [_draw(panel, part, draw) for panel, part in zip(figure.figures, parts, strict=False)]
    widths, heights = zip(*sizes, strict=True) if sizes else ((4.0,), (1.0,))
    canvas.suptitle(figure.title, x=0.01, ha="left")
    return columns * max(widths), rows * max(heights) + 0.3
