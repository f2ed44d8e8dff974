"""A safe reader of the idx format of MNIST: a header with the sizes, then unsigned bytes; plain or gzipped.

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

import numpy as np
from numpy.typing import NDArray

from vitruvius.core.errors import UserError, reason

LIMIT = 2**30
"""More data than this is refused before it is read."""
CHUNK = 2**20
GZIP_MAGIC = b"\x1f\x8b"


def read(path: Path, *, limit: int = LIMIT, sha256: str = "") -> NDArray[np.uint8]:
    """Read the array in an idx file; its raw bytes are compared with `sha256` if one is given.

    Never more than `limit` bytes and never more than the file declares are inflated.
    """
    try:
        with _opened(path) as file:
            header, sizes = _header(path, file)
            data = _data(path, file, sizes, min(limit, LIMIT))
    except (OSError, EOFError, zlib.error) as error:
        why = reason(error) if isinstance(error, OSError) else str(error)
        raise UserError(f"{path}: cannot be read: {why}") from error
    digest = hashlib.sha256(header)
    digest.update(data)
    if sha256 and digest.hexdigest() != sha256:
        raise UserError(
            f"{path}: damaged or not the original: the SHA-256 of its content is {digest.hexdigest()}, "
            f"not {sha256}"
        )
    return np.frombuffer(data, np.uint8).reshape(sizes)


def _opened(path: Path) -> gzip.GzipFile | BufferedReader:
    """Open a file, inflating it if it is gzipped, whatever its name (browsers inflate and keep the name)."""
    with open(path, "rb") as file:
        magic = file.read(2)
    return gzip.open(path, "rb") if magic == GZIP_MAGIC else open(path, "rb")


def _header(path: Path, file: gzip.GzipFile | BufferedReader) -> tuple[bytes, tuple[int, ...]]:
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


def _data(path: Path, file: gzip.GzipFile | BufferedReader, sizes: tuple[int, ...], limit: int) -> bytearray:
    """Read exactly the declared bytes; the buffer grows with what is there, not with what is declared."""
    total, start = math.prod(sizes), 4 + 4 * len(sizes)
    shape = " x ".join(map(str, sizes))
    if not 0 < total <= limit:
        raise UserError(f"{path}: byte 4: {shape} = {total:,} bytes declared, 1 to {limit:,} are read")
    data = bytearray()
    while chunk := file.read(min(CHUNK, total - len(data))):
        data += chunk
    if len(data) < total:
        raise UserError(
            f"{path}: byte {start + len(data)}: the file ends, {shape} = {total:,} bytes were declared"
        )
    # this read also makes gzip compare its own checksum
    if file.read(1):
        raise UserError(
            f"{path}: byte {start + total}: more bytes follow than the {shape} = {total:,} declared"
        )
    return data
