"""Where a call comes from, and short fingerprints of batches: what the watcher notes of every event."""

import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import Tensor

PACKAGE = str(Path(__file__).parent.parent)
LIBRARIES = (
    PACKAGE,
    str(Path(torch.__file__).parent),
    *{sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")},
)
ROWS, FEATURES = 64, 256
"""How many rows of a batch, and how many numbers of a row, make its fingerprint."""

_WATCHED: set[str] = set()


@contextmanager
def as_users(files: set[str]) -> Iterator[None]:
    """Inside the block these files count as the user's: the package watches a training of its own."""
    _WATCHED.update(files)
    is_users.cache_clear()
    try:
        yield
    finally:
        _WATCHED.clear()
        is_users.cache_clear()


@cache
def is_users(file: str) -> bool:
    """Whether a source file is the user's own: none of torch, of this package or of any installed library."""
    return (
        file in _WATCHED
        or not file.startswith(("<frozen", "<string", *LIBRARIES))
        and "site-packages" not in file
    )


def user_frame() -> FrameType | None:
    """The innermost frame of the user's code."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def where() -> str:
    """`file:line` of the user's code that is running, empty if there is none."""
    frame = user_frame()
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else ""


def function_name() -> str:
    """The function of the user's code that is running."""
    frame = user_frame()
    return frame.f_code.co_name if frame else ""


def calls_through(part: str) -> bool:
    """Whether a file whose path holds `part` is among the callers."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and part not in frame.f_code.co_filename:
        frame = frame.f_back
    return frame is not None


def first_tensor(value: Any) -> Tensor | None:
    """The first tensor in what a network was given or gave back."""
    if isinstance(value, Tensor):
        return value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return next((found for part in parts if (found := first_tensor(part)) is not None), None)


def rows_of(x: Tensor) -> list[int]:
    """One number for each of the first rows of a batch; equal rows have equal numbers."""
    flat = x.detach()[:ROWS].reshape(min(len(x), ROWS), -1)
    # With few numbers many images look alike: most pixels of a digit are background.
    picked = flat[:, :: max(1, flat.shape[1] // FEATURES)][:, :FEATURES]
    return [hash(row.tobytes()) for row in picked.contiguous().view(torch.uint8).cpu().numpy()]
