"""The folder in which Vitruvius keeps what it can make or download again."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_CLOSED: ContextVar[bool] = ContextVar("cache is closed", default=False)


def folder(name: str) -> Path:
    """Return the folder for one kind of files: $XDG_CACHE_HOME/vitruvius/NAME or ~/.cache/vitruvius/NAME."""
    root = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(os.path.expanduser(root)) / "vitruvius" / name


@contextmanager
def closed() -> Iterator[None]:
    """Within it the cache is read, not changed: nothing is downloaded into it, written or removed."""
    before = _CLOSED.set(True)
    try:
        yield
    finally:
        _CLOSED.reset(before)


def is_closed() -> bool:
    """Whether the cache must not be changed here."""
    return _CLOSED.get()
