"""A data set and a space so small that a whole search takes seconds; only one search is drawn."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.undrawn import draw_nothing
from vitruvius.core.config import Flags
from vitruvius.core.records import Record
from vitruvius.searching.settings import Config
from vitruvius.verbs import search

TOY = """
import torch
from vitruvius.datasets import Dataset, Split

def toy(data_dir=None, validation=None, seed=0, classes=2):
    source = torch.Generator().manual_seed(5)
    y = torch.arange(104) % classes
    x = torch.randint(0, 120, (104, 1, 8, 8), generator=source, dtype=torch.uint8)
    x[y == 0, :, :, :4] += 100
    x[y == 1, :, :, 4:] += 100
    parts = [Split(x[a:b], y[a:b]) for a, b in ((0, 48), (48, 80), (80, 104))]
    return Dataset("toy", *parts, classes=("left", "right"), mean=(0.4,), std=(0.2,), sha256="toy")

def one_class(data_dir=None, validation=None, seed=0):
    return toy(classes=1)

def unchecked(data_dir=None, validation=None, seed=0):
    data = toy()
    none = Split(data.train.x[:0], data.train.y[:0])
    return Dataset("toy", data.train, none, data.test, data.classes, (0.4,), (0.2,))
"""
SPACE = {
    "choices": {
        "patch": [4],
        "width": [4, 8],
        "depth": [1, 2],
        "heads": [1, 2],
        "head_dim": [2, 4],
        "mlp_ratio": [1, 2],
    }
}
SETTINGS: dict[str, Any] = {"epochs": 2, "batch": 16, "warmup": 1, "shift": 0, "candidates": 300, "scored": 5}


@pytest.fixture(scope="module", autouse=True)
def _without_drawing() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        draw_nothing(patch)
        yield


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the data set and the space."""
    folder = tmp_path_factory.mktemp("search")
    (folder / "toy.py").write_text(TOY)
    (folder / "space.json").write_text(json.dumps(SPACE))
    return folder


@pytest.fixture(scope="session")
def config(place: Path) -> Callable[..., Config]:
    """Settings of a tiny search, with some changed."""

    def make(**changes: Any) -> Config:
        given = {"data": f"{place / 'toy.py'}:toy", "space": str(place / "space.json"), **SETTINGS, **changes}
        return Config(**given)

    return make


@pytest.fixture(scope="session")
def run(config: Callable[..., Config]) -> Callable[..., list[Record]]:
    """Run a search and return its records."""

    def go(runs: Path, name: str = "toy", resume: bool = False, **changes: Any) -> list[Record]:
        if resume:
            return list(search.run(Config(), Flags(runs=str(runs), resume=name)))
        return list(search.run(config(**changes), Flags(runs=str(runs), name=name)))

    return go
