"""Warnings while torch's functions are hooked: none is about the hooks, and none names a line of them."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from vitruvius.doctor.watcher import Watcher

DOCTOR = str(Path(__file__).parent)


@contextmanager
def as_without_hooks(watcher: Watcher) -> Iterator[None]:
    """Inside the block scripts get the warnings of torch that they get alone, at the lines that call it."""
    # Torch warns who calls a compiled network that hooks exist: they are ours.
    warnings.filterwarnings("ignore", "Using `torch.compile", UserWarning)
    filters: Any = warnings.filters
    ours, own = filters[0], warnings.showwarning

    def show(
        message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: str | None = None
    ) -> None:
        caller = _caller_of_hook() if filename.startswith(DOCTOR) and not watcher.busy else None
        if caller is not None:
            filename, lineno = caller.f_code.co_filename, caller.f_lineno
        own(message, category, filename, lineno, file, line)

    warnings.showwarning = show
    try:
        yield
    finally:
        if warnings.showwarning is show:
            warnings.showwarning = own
        if ours in filters:
            filters.remove(ours)


def _caller_of_hook() -> FrameType | None:
    """The innermost frame that has called a hook."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and not frame.f_code.co_filename.startswith(DOCTOR):
        frame = frame.f_back  # Python's own module of warnings
    while frame is not None and frame.f_code.co_filename.startswith(DOCTOR):
        frame = frame.f_back
    return frame
