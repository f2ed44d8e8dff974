"""Decode pictures into the rows of a file of pixels, in a process of its own.

`python -m vitruvius.datasets._decoder PIXELS PICTURES SIDE FIT` reads one task per line of stdin, a JSON list
of locations, and answers with a line of outcomes. It ends when stdin does.
"""

import hashlib
import json
import signal
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vitruvius.core.errors import UserError
from vitruvius.datasets import _images
from vitruvius.datasets._survey import Fit


class Location(NamedTuple):
    """Where a picture lies, and the row that its pixels get."""

    row: int
    path: str
    offset: int
    length: int | None


class Outcome(NamedTuple):
    """What became of a picture: the checksum of its bytes, its size, whether it is grey, or its fault."""

    row: int
    sha256: str = ""
    width: int = 0
    height: int = 0
    is_grey: bool = False
    fault: str = ""


def decode(location: Location, rows_BCHW: NDArray[np.uint8], fit: Fit) -> Outcome:
    """Decode one picture into its row; a grey one fills the three channels."""
    try:
        data = _images.read(Path(location.path), location.offset, location.length)
        pixels_CHW, width, height = _images.decode(data, rows_BCHW.shape[-1], fit)
    except UserError as error:
        return Outcome(location.row, fault=str(error))
    rows_BCHW[location.row] = pixels_CHW
    digest = hashlib.sha256(data).hexdigest()
    return Outcome(location.row, digest, width, height, len(pixels_CHW) == 1)


def rows(path: Path, count: int, side: int) -> NDArray[np.uint8]:
    """Open a file of pixels for writing."""
    return np.memmap(path, np.uint8, "r+", shape=(count, 3, side, side))


def main(path: str, count: str, side: str, fit: Fit) -> None:
    """Answer tasks until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is interrupted, and closes stdin
    target = rows(Path(path), int(count), int(side))
    for line in sys.stdin:
        outcomes = [decode(Location(*location), target, fit) for location in json.loads(line)]
        print(json.dumps(outcomes), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])  # type: ignore[arg-type]
