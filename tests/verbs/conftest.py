"""Verbs are tested without drawing, which takes 86 % of a tiny training; `pictures` draws again."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from vitruvius.core import files
from vitruvius.core.blocks import Figure
from vitruvius.render import figures

DRAWING = {"write_png": figures.write_png, "svg": figures.svg}


def _write_nothing(figure: Figure, path: Path) -> None:
    files.write(path, b"")


def _empty_svg(figure: Figure, prefix: str = "") -> str:
    return "<svg></svg>"


@pytest.fixture(scope="module", autouse=True)
def _without_drawing() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "write_png", _write_nothing)
        patch.setattr(figures, "svg", _empty_svg)
        yield


@pytest.fixture
def pictures() -> Iterator[None]:
    """Draw in this test."""
    with pytest.MonkeyPatch.context() as patch:
        for name, drawing in DRAWING.items():
            patch.setattr(figures, name, drawing)
        yield
