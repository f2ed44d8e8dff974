"""The line of the user's code that is running: the innermost frame outside torch and other libraries."""

import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType

import torch

PACKAGE = str(Path(__file__).parent.parent)
STANDARD, INSTALLED = sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")
TORCH = str(Path(torch.__file__).parent)
LIBRARIES = (PACKAGE, TORCH, STANDARD, INSTALLED)
SCRIPTS = sysconfig.get_path("scripts")

FRAMEWORKS = {
    *("lightning", "pytorch_lightning", "lightning_fabric", "transformers", "accelerate", "trl", "ignite"),
    *("skorch", "fastai", "composer", "torch_geometric"),
}
"""Packages that run the user's training, wherever they lie: also in a checkout of their source."""
NAMELESS = ("<genexpr>", "<listcomp>", "<lambda>")
"""Functions that have no name of their own."""

_WATCHED: set[str] = set()


def _launcher() -> str:
    """The console script that started this process, as pip installs them; empty if another file did."""
    file = getattr(sys.modules["__main__"], "__file__", None) or ""
    return file if Path(file).resolve().is_relative_to(Path(SCRIPTS).resolve()) else ""


LAUNCHER = _launcher()


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
    installed = "site-packages" in file or "dist-packages" in file or file == LAUNCHER
    library = installed or file.startswith(("<frozen", "<string", *LIBRARIES))
    return file in _WATCHED or not library


def is_plain(frame: FrameType) -> bool:
    """Whether a frame runs the user's own code, not that of a framework."""
    return is_users(frame.f_code.co_filename) and not _is_frameworks(frame)


def is_own(frame: FrameType | None) -> bool:
    """Whether the code that called torch is the user's, neither a library's nor this package's."""
    while frame is not None and frame.f_code.co_filename.startswith(TORCH):
        frame = frame.f_back
    return frame is not None and is_plain(frame) and not frame.f_code.co_filename.startswith(PACKAGE)


def user_frame() -> FrameType | None:
    """The innermost frame of the user's code."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (not is_users(frame.f_code.co_filename) or _is_frameworks(frame)):
        frame = frame.f_back
    return frame


def _is_frameworks(frame: FrameType) -> bool:
    """Whether a module of a framework's package is running; a script of the same name is in no package."""
    package = frame.f_globals.get("__package__")
    return isinstance(package, str) and package.partition(".")[0] in FRAMEWORKS


def where() -> str:
    """`file:line` of the user's code that is running, empty if there is none."""
    return line_of(user_frame())


def line_of(frame: FrameType | None) -> str:
    """`file:line` that a frame is running, empty if there is none."""
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else ""


def function_name(frame: FrameType | None) -> str:
    """The function that a frame is running; that around a generator expression or a lambda."""
    while frame is not None and frame.f_back and frame.f_code.co_name in NAMELESS:
        frame = frame.f_back
    return frame.f_code.co_name if frame else ""


def is_called_by(part: str) -> bool:
    """Whether a file whose path contains `part` is among the callers."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and part not in frame.f_code.co_filename:
        frame = frame.f_back
    return frame is not None
