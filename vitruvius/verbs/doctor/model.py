"""Check a network, its loss and one batch without training: `./mine.py:factory` returns (model, loss, batch).

The factory takes no arguments. The loss is called as loss(model(x), y) for a batch (x, y).

vitruvius doctor model ./mine.py:factory
vitruvius doctor model --table ./mine.py:factory
"""

import sys
from collections.abc import Iterator
from typing import Any

from vitruvius.core import config, plugins, records
from vitruvius.core.config import Flags, Positional
from vitruvius.core.errors import UserError


class Config(config.Config):
    """Where the network comes from."""

    factory: Positional[str] = ""
    """PACKAGE:FACTORY or ./file.py:FACTORY, a function that returns (model, loss, batch)."""
    table: bool = False
    """Also measure gradient accumulation: the batch in every (batch, steps), against the whole."""


def run(config: Config, flags: Flags = Flags()) -> Iterator[records.Record]:
    """Build, pass forward and back once on a copy, and report."""
    from vitruvius.doctor import diagnose as clinic
    from vitruvius.doctor.results import result

    yield result(clinic.examine_model(_factory(config.factory), config.factory, config.table), config.table)


def _factory(name: str) -> Any:
    """The function that a name stands for."""
    package, colon, attribute = name.rpartition(":")
    if not colon or not package:
        raise UserError("which network? vitruvius doctor model PACKAGE:FACTORY, or ./file.py:FACTORY")
    if package.endswith(".py"):
        return plugins.function("factories", name)
    import importlib

    sys.path.insert(0, "")
    try:
        return getattr(importlib.import_module(package), attribute)
    except (ImportError, AttributeError) as error:
        raise UserError(f"factory {name}: {error}") from error
    finally:
        sys.path.remove("")
