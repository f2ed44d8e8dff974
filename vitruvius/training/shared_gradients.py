"""Sum the gradients of the processes of one machine in memory that they map, instead of sending them.

Each process writes its gradients into a row of its own; after a small all-reduce, which tells it that all
have written, it adds up the rows in the order of ranks, so that all get the same bits. There are two sets of
rows: a process that writes the next gradients into the other set disturbs nobody who still reads this one,
and it comes back to this one only after an all-reduce that follows the reading.

Sending 900,000 gradients through gloo takes 3.3 ms for two processes, a sixth of a step of the reference ViT.
"""

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import gettempdir

import torch
from torch import Tensor

SETS = 2
MEMORY = Path("/dev/shm")  # nosec B108 # the file system in memory; the folder made in it is our own


def parent() -> str:
    """Return where the folder of a group is to be made: in memory, where the system has such a place."""
    return str(MEMORY if os.access(MEMORY, os.W_OK) else gettempdir())


class SharedGradients:
    """The mapped rows of all processes; all of them call its methods in the same order."""

    def __init__(self, folder: Path, rank: int, processes: int) -> None:
        self.folder, self.rank, self.processes = folder, rank, processes
        self.rows: Tensor | None = None  # (sets, processes, gradients)
        self.turn = 0

    def prepare(self, like: Tensor, count: int, all_reduce: Callable[[Tensor], Tensor]) -> bool:
        """Map rows for so many gradients; return whether there was room for them.

        When all have mapped it, the file loses its name: nothing is left of it after they end, or are killed.
        """
        size = SETS * self.processes * count
        if self.rows is not None and self.rows.numel() == size and self.rows.dtype == like.dtype:
            return True
        path = self.folder / "gradients"
        has_room = self.rank == 0 and _reserve(path, size * like.element_size())
        if not all_reduce(torch.tensor(int(has_room))):
            return False
        mapped = torch.from_file(str(path), shared=True, size=size, dtype=like.dtype)
        self.rows = mapped.view(SETS, self.processes, count)
        all_reduce(torch.tensor(0))
        path.unlink(missing_ok=True)
        return True

    def write(self, gradients: Sequence[Tensor]) -> None:
        """Put the gradients of this process where the others find them."""
        assert self.rows is not None
        self.turn = (self.turn + 1) % SETS
        torch.cat([gradient.flatten() for gradient in gradients], out=self.rows[self.turn, self.rank])

    def total(self) -> Tensor:
        """Return the sum over all processes; all of them must have written."""
        assert self.rows is not None
        first, second, *others = self.rows[self.turn].unbind(0)
        flat = first + second
        for row in others:
            flat += row
        return flat


def _reserve(path: Path, size: int) -> bool:
    """Make a file whose pages exist: a page that does not would end the process when it is written to."""
    if not hasattr(os, "posix_fallocate") or shutil.disk_usage(path.parent).free < 2 * size:
        return False
    try:
        with path.open("xb") as file:
            os.posix_fallocate(file.fileno(), 0, size)
    except OSError:
        path.unlink(missing_ok=True)
        return False
    return True
