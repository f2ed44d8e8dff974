"""A disk that fails: it dies before its n-th operation, losing what was not synced, or refuses the operation.

It stands in the place of `os` in core/files.py, which does all writing. What a crash may do to data that no
fsync has confirmed: it is dropped, it is zeroed, or the rename is on disk and an earlier one is not.
"""

import os
import signal
import stat
from pathlib import Path
from typing import Any

from vitruvius.core import files

LOSSES = ("dropped", "zeroed", "reordered")
OPERATIONS = ("write", "fsync", "rename", "fsync of the folder")


class FaultyDisk:
    """`os`, with a fault before the operation of a number; without a number it only counts them."""

    def __init__(self, number: int = 0, loss: str = "dropped", error: int = 0) -> None:
        self.number, self.loss, self.error = number, loss, error
        self.operations: list[str] = []
        self._unsynced: dict[Path, int] = {}  # bytes of a file that are confirmed
        self._created: set[Path] = set()  # files whose entry in the folder is not confirmed
        self._replaced: dict[Path, bytes | None] = {}  # what an unconfirmed rename has replaced

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def fdopen(self, handle: int, mode: str = "r", *rest: Any, **options: Any) -> Any:
        """Open for writing: what is written from here on is not confirmed."""
        if mode in ("wb", "ab"):
            path = _path(handle)
            self._created |= {path} if os.fstat(handle).st_size == 0 else set()
            self._unsynced[path] = os.fstat(handle).st_size
            self._begin("write", handle)
        return os.fdopen(handle, mode, *rest, **options)

    def fsync(self, handle: int) -> None:
        """Confirm a file, or the entries of a folder."""
        path = _path(handle)
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            self._begin("fsync of the folder")
            self._replaced = {one: old for one, old in self._replaced.items() if one.parent != path}
            self._created = {one for one in self._created if one.parent != path}
        else:
            self._begin("fsync")
            self._unsynced.pop(path, None)

    def replace(self, source: Path, target: Path) -> None:
        """Rename: until the folder is confirmed, the old content may come back."""
        self._begin("rename")
        source, target = Path(source).resolve(), Path(target).resolve()
        self._replaced[target] = target.read_bytes() if target.exists() else None
        os.replace(source, target)
        if source in self._unsynced:
            self._unsynced[target] = self._unsynced.pop(source)
        self._created.discard(source)

    def _begin(self, operation: str, handle: int | None = None) -> None:
        self.operations.append(operation)
        if len(self.operations) != self.number:
            return
        if self.error:
            if handle is not None:
                os.close(handle)
            raise OSError(self.error, os.strerror(self.error), "the disk")
        self._lose()
        os.kill(os.getpid(), signal.SIGKILL)

    def _lose(self) -> None:
        """Leave the disk as it may be found after a loss of power."""
        for path, confirmed in self._unsynced.items():
            if path.exists():
                size = path.stat().st_size
                os.truncate(path, confirmed)
                if self.loss == "zeroed":
                    os.truncate(path, size)  # a hole reads as zeros
        if self.loss in ("dropped", "reordered"):
            for path, old in self._replaced.items():
                if self.loss == "reordered" and path in self._unsynced:
                    continue  # its rename came first, its data did not
                path.unlink(missing_ok=True) if old is None else path.write_bytes(old)
        if self.loss == "dropped":
            for path in self._created:
                path.unlink(missing_ok=True)


class WithoutSync(FaultyDisk):
    """The planted fault: nothing is ever confirmed, because nobody asks for it."""

    def fsync(self, handle: int) -> None:
        self._begin("fsync")


def install(disk: FaultyDisk) -> None:
    """Let core/files.py write to this disk."""
    vars(files)["os"] = disk


def _path(handle: int) -> Path:
    return Path(os.readlink(f"/proc/self/fd/{handle}"))
