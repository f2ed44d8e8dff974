"""One served site for all tests of the pages."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.web import visitor
from tests.web.visitor import Visitor
from vitruvius.web import server


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    """A site with a few runs; tests that change a run make their own."""
    runs: Path = tmp_path_factory.mktemp("served") / "runs"
    visitor.training(runs, "first", 0.75)
    visitor.training(runs, "second", 0.5, lr=0.2)
    visitor.training(runs, visitor.HOSTILE.replace("/", ""), 0.25)
    visitor.ranking(runs, "three")
    visitor.diagnosis(runs, "sick")
    listener = server.open_port("127.0.0.1", 0)
    with server.serving(listener, "127.0.0.1", runs) as door:
        yield Visitor(door, runs)
