"""Verbs are tested without drawing, which takes 86 % of a tiny training; `pictures` draws again."""

from collections.abc import Iterator

import pytest

from tests.undrawn import draw_nothing, drawn


@pytest.fixture(scope="module", autouse=True)
def _without_drawing() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        draw_nothing(patch)
        yield


@pytest.fixture
def pictures() -> Iterator[None]:
    """Draw in this test."""
    with drawn():
        yield
