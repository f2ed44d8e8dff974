"""Figures as PNG files."""

import io
from pathlib import Path

from vitruvius.core import files
from vitruvius.core.blocks import Figure
from vitruvius.render import canvas

DPI = 150


def draw(figure: Figure, path: Path) -> None:
    """Write a figure as a PNG file on white, in one step."""
    content = io.BytesIO()
    with canvas.painted(figure) as picture:
        # No metadata: the same figure gives the same bytes whatever the version that drew it is called.
        picture.savefig(content, format="png", dpi=DPI, facecolor="white", metadata={"Software": None})
    files.write(path, content.getvalue())
