"""Verbs are tested without drawing, which takes 86 % of a tiny training; `pictures` draws again."""

from collections.abc import Iterator

import pytest

from tests.undrawn import draw_nothing
from vitruvius.render import figures

DRAWING = {"write_png": figures.write_png, "svg": figures.svg}


@pytest.fixture(scope="module", autouse=True)
def _without_drawing() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        draw_nothing(patch)
        yield


@pytest.fixture
def pictures() -> Iterator[None]:
    """Draw in this test."""
    with pytest.MonkeyPatch.context() as patch:
        for name, drawing in DRAWING.items():
            patch.setattr(figures, name, drawing)
        patch.setattr(figures, "DPI", 75)  # a quarter of the pixels
        yield
