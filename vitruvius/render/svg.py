"""Figures as inline SVG."""

import html
import io
import re

from vitruvius.core.blocks import Figure
from vitruvius.render import canvas
from vitruvius.render.png import DPI

_SIZE = re.compile(r'<svg xmlns:xlink="[^"]*" width="([^"]*)" height="[^"]*"')
_IDS = re.compile(r'(\bid="|href="#|url\(#)')


def drawing(figure: Figure, mark: str = "") -> str:
    """A figure as an `<svg>` element that takes the colour of the text around it.

    Ids begin with `mark`, so that several drawings of one page never share one.
    """
    content = io.StringIO()
    with canvas.painted(figure) as picture:
        picture.savefig(content, format="svg", dpi=DPI, metadata={"Date": None, "Creator": None})
    drawn = content.getvalue()
    drawn = drawn[drawn.index("<svg") :].replace(canvas.INK, "currentColor")
    drawn = re.sub(r"<metadata>.*?</metadata>\s*", "", drawn, count=1, flags=re.DOTALL)
    drawn = _IDS.sub(rf"\g<1>{mark}", drawn)
    opening = rf'<svg role="img" aria-label="{html.escape(figure.title)}" style="max-width:\1"'
    return _SIZE.sub(lambda found: found.expand(opening), drawn, count=1).strip()
