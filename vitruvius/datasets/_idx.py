"""A safe reader of the idx format of MNIST, and of a data set of four such files, plain or gzipped.

bytes 0-1   zero
byte  2     the type; 0x08, unsigned bytes, is the only one read here
byte  3     the number of dimensions: 1 (labels) or 3 (images)
then        a big-endian 32-bit size per dimension, then the data, last index fastest, and nothing after it
"""

import gzip
import hashlib
import math
import struct
import zlib
from io import BufferedReader
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vitruvius.core.counted import counted
from vitruvius.core.errors import UserError, reason
from vitruvius.datasets import Dataset, Split, _samples

FILES = tuple(f"{part}-{kind}-ubyte" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1"))
LIMIT = 60_000 * 28 * 28
"""The bytes of the largest of the four files; more data than this is refused before it is read."""
CHUNK = 2**20
Bytes = NDArray[np.uint8]
File = gzip.GzipFile | BufferedReader


class Known(NamedTuple):
    """The published facts about a data set, known before it is read."""

    name: str
    classes: tuple[str, ...]
    sha256: tuple[str, ...]  # of the raw bytes of FILES: the same for plain, gzipped and repacked copies
    validation: int  # how many training images are put aside by default
    part: str = "full"  # or 'mini'


def spellings(name: str) -> tuple[str, ...]:
    """Return the names that one of FILES may have on disk.

    >>> spellings("t10k-labels-idx1-ubyte")[:2]
    ('t10k-labels-idx1-ubyte.gz', 't10k-labels-idx1-ubyte')
    """
    return tuple(base + end for base in (name, name.replace("-idx", ".idx")) for end in (".gz", ""))


def load(known: Known, paths: list[Path], validation: int | None) -> Dataset:
    """Load a data set from its four files, verified by checksum; split off the validation images."""
    arrays = [read(path, sha256=sha256) for path, sha256 in zip(paths, known.sha256, strict=True)]
    (x, y), test = (_labelled(paths[i], arrays[i], arrays[i + 1], len(known.classes)) for i in (0, 2))
    counts = f"{len(arrays[0]):,} training and {len(arrays[2]):,} test images"
    facts = {"name": known.name, "classes": known.classes}
    facts["source"] = f"{known.part}: {counts} from {paths[0].parent}"
    facts["sha256"] = hashlib.sha256("".join(known.sha256).encode()).hexdigest()
    return _samples.dataset(x, y, Split(*test), validation, known.validation, **facts)


def _labelled(path: Path, images: Bytes, labels: Bytes, classes: int) -> tuple[Tensor, Tensor]:
    """Return images (B, 1, H, W) and labels (B,); refuse them if they do not belong together."""
    if images.ndim != 3 or labels.ndim != 1:
        raise UserError(f"{path}: images have 3 dimensions and labels 1, not {images.ndim} and {labels.ndim}")
    if len(images) != len(labels):
        raise UserError(f"{path}: {counted(len(images), 'image')} but {counted(len(labels), 'label')}")
    if (top := labels.max()) >= classes:
        raise UserError(f"{path}: label {top} at position {labels.argmax()}, labels are 0 to {classes - 1}")
    return torch.from_numpy(images[:, None]), torch.from_numpy(labels.astype(np.int64))


def read(path: Path, *, limit: int = LIMIT, sha256: str = "") -> Bytes:
    """Read the array in an idx file; its raw bytes are compared with `sha256` if one is given.

    Never more than `limit` bytes and never more than the file declares are inflated.
    """
    try:
        with open(path, "rb") as file:
            gzipped = file.read(2) == b"\x1f\x8b"  # whatever its name: browsers inflate and keep the name
        with gzip.open(path, "rb") if gzipped else open(path, "rb") as file:
            header, sizes = _header(path, file)
            data = _data(path, file, sizes, limit)
    except (OSError, EOFError, zlib.error) as error:
        why = reason(error) if isinstance(error, OSError) else str(error)
        raise UserError(f"{path}: cannot be read: {why}") from error
    found = hashlib.sha256(header + data).hexdigest()
    if sha256 and found != sha256:
        what = f"the SHA-256 of its content is {found}, not {sha256}"
        raise UserError(f"{path}: damaged or not the original: {what}")
    return np.frombuffer(data, np.uint8).reshape(sizes)


def _header(path: Path, file: File) -> tuple[bytes, tuple[int, ...]]:
    magic = file.read(4)
    if len(magic) < 4 or magic[:2] != b"\0\0":
        raise UserError(f"{path}: byte 0: not an idx file: it starts with '{magic.hex()}', not with '0000'")
    _, kind, dimensions = struct.unpack(">HBB", magic)
    if kind != 8:
        raise UserError(f"{path}: byte 2: type 0x{kind:02x}, only 0x08 (unsigned bytes) is read")
    if dimensions not in (1, 3):
        raise UserError(f"{path}: byte 3: {dimensions} dimensions, only 1 (labels) or 3 (images) are read")
    declared = file.read(4 * dimensions)
    if len(declared) < 4 * dimensions:
        raise UserError(f"{path}: byte {4 + len(declared)}: the file ends inside its header")
    return magic + declared, struct.unpack(f">{dimensions}I", declared)


def _data(path: Path, file: File, sizes: tuple[int, ...], limit: int) -> bytearray:
    """Read exactly the declared bytes; the buffer grows with what is there, not with what is declared."""
    total, start, data = math.prod(sizes), 4 + 4 * len(sizes), bytearray()
    size = f"{' x '.join(map(str, sizes))} = {total:,}"
    if not 0 < total <= limit:
        raise UserError(f"{path}: byte 4: {size} bytes declared, 1 to {limit:,} are read")
    while chunk := file.read(min(CHUNK, total - len(data))):
        data += chunk
    if len(data) < total:
        raise UserError(f"{path}: byte {start + len(data)}: the file ends, {size} bytes were declared")
    if file.read(1):  # this read also makes gzip compare its own checksum
        raise UserError(f"{path}: byte {start + total}: more bytes follow than the {size} declared")
    return data
