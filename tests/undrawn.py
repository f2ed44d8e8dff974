"""Figures that are not drawn: drawing takes most of the time of a small run, and few tests look at it."""

from pathlib import Path

import pytest

from vitruvius.core import files
from vitruvius.core.blocks import Figure
from vitruvius.render import figures


def draw_nothing(patch: pytest.MonkeyPatch) -> None:
    """Write empty pictures until the patch is undone."""
    patch.setattr(figures, "write_png", _write_nothing)
    patch.setattr(figures, "svg", _empty_svg)


def _write_nothing(figure: Figure, path: Path) -> None:
    files.write(path, b"")


def _empty_svg(figure: Figure, prefix: str = "") -> str:
    return "<svg></svg>"
