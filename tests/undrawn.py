"""Figures that are not drawn: drawing takes most of the time of a small run, and few tests look at it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from vitruvius.core import files
from vitruvius.core.blocks import Figure
from vitruvius.render import figures

DRAWING = {"write_png": figures.write_png, "svg": figures.svg}


def draw_nothing(patch: pytest.MonkeyPatch) -> None:
    """Write empty pictures until the patch is undone."""
    patch.setattr(figures, "write_png", _write_nothing)
    patch.setattr(figures, "svg", _empty_svg)


@contextmanager
def drawn() -> Iterator[None]:
    """Draw again inside the block, with a quarter of the pixels."""
    with pytest.MonkeyPatch.context() as patch:
        for name, drawing in DRAWING.items():
            patch.setattr(figures, name, drawing)
        patch.setattr(figures, "DPI", 75)
        yield


def _write_nothing(figure: Figure, path: Path) -> None:
    files.write(path, b"")


def _empty_svg(figure: Figure, prefix: str = "") -> str:
    return "<svg></svg>"
