"""Where a call comes from, and short fingerprints of batches: what the watcher notes of every event."""

import sys
import sysconfig
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import Tensor

PACKAGE = str(Path(__file__).parent.parent)
LIBRARIES = (PACKAGE, str(Path(torch.__file__).parent), *{sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")})
ROWS, FEATURES = 64, 8
"""How many rows of a batch, and how many numbers of a row, make its fingerprint."""


@cache
def is_users(file: str) -> bool:
    """Whether a source file is the user's own: none of torch, of this package or of any installed library."""
    return not file.startswith(("<frozen", "<string", *LIBRARIES)) and "site-packages" not in file


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
    picked = flat[:, :: max(1, flat.shape[1] // FEATURES)][:, : 2 * FEATURES]
    return [hash(tuple(row)) for row in picked.tolist()]
