"""Hooks into data loaders, and into numbers that are read from tensors."""

import sys
from typing import Any

import torch

from vitruvius.checks import LoaderUsed, NumbersRead
from vitruvius.doctor import user_code
from vitruvius.doctor.loading import clock, replaced
from vitruvius.doctor.telling import tell
from vitruvius.doctor.watcher import Watcher

CALLER = 2  # frames between a replacement and who called the original


def replacements() -> list[tuple[Any, str, Any]]:
    """What is replaced while a block is watched."""
    loader, iterator, fetcher = replaced()
    found: list[tuple[Any, str, Any]] = [(loader, "__init__", _init), (loader, "__iter__", _iter)]
    found += [(iterator, "__next__", _next), (fetcher, "fetch", _fetch)]
    return [*found, *[(torch.Tensor, name, _read) for name in ("item", "tolist", "__float__")]]


def _init(watcher: Watcher, original: Any, self: Any, *args: Any, **kwargs: Any) -> None:
    original(self, *args, **kwargs)
    tell(watcher, (LoaderUsed,), watcher.loaders.built, self)


def _iter(watcher: Watcher, original: Any, self: Any) -> Any:
    iterator = original(self)
    tell(watcher, (LoaderUsed,), watcher.loaders.iterated, self, iterator)
    return iterator


def _next(watcher: Watcher, original: Any, self: Any) -> Any:
    started = clock()
    batch = original(self)
    tell(watcher, (LoaderUsed,), watcher.loaders.loaded, self, batch, started, clock())
    return batch


def _fetch(watcher: Watcher, original: Any, self: Any, index: Any) -> Any:
    batch = original(self, index)
    if isinstance(index, list):
        watcher.loaders.indices = list(index)
    return batch


def _read(watcher: Watcher, original: Any, self: Any, *args: Any) -> Any:
    if not user_code.is_own(sys._getframe(CALLER)):
        return original(self, *args)
    started = clock()
    value = original(self, *args)
    tell(watcher, (NumbersRead,), watcher.number_read, self, clock() - started)
    return value


WATCHED = (_read,)
"""Replacements that do nothing in steps that are not watched."""
