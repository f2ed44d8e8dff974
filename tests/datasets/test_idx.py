"""The idx reader takes exactly the well-formed files and refuses everything else without a surprise."""

import gzip
import io
import math
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from vitruvius.core.errors import UserError
from vitruvius.datasets import _idx

LIMIT = 4096
MUTATIONS = 1200
AsIdx = Callable[[NDArray[np.uint8]], bytes]


def expected(raw: bytes) -> bytes | None:
    """Return what a well-formed file of allowed size holds: the definition of the format, written again."""
    if len(raw) < 4 or raw[:3] != b"\0\0\x08" or raw[3] not in (1, 3):
        return None
    start = 4 + 4 * raw[3]
    total = math.prod(int.from_bytes(raw[at : at + 4], "big") for at in range(4, start, 4))
    return raw[start:] if len(raw) >= start and len(raw) - start == total and 0 < total <= LIMIT else None


@st.composite
def mutants(draw: st.DrawFn) -> tuple[bytes, bytes | None]:
    """A well-formed file after a few injuries, plain or gzipped, and what may be read from it."""
    sizes = draw(st.sampled_from([(7,), (1,), (300,), (2, 3, 4), (5, 28, 28), (1, 1, 1)]))
    total = math.prod(sizes)
    raw = bytearray(bytes([0, 0, 8, len(sizes)]) + b"".join(size.to_bytes(4, "big") for size in sizes))
    raw += bytes(number * 7 % 251 for number in range(total))
    for _ in range(draw(st.integers(0, 2))):
        injure(draw, raw)
    if not draw(st.booleans()):
        return bytes(raw), expected(bytes(raw))
    packed = bytearray(gzip.compress(bytes(raw), compresslevel=draw(st.sampled_from([0, 6])), mtime=0))
    if draw(st.booleans()):
        injure(draw, packed)
    return bytes(packed), expected(inflated(bytes(packed)))


def injure(draw: st.DrawFn, data: bytearray) -> None:
    """Truncate, lengthen, flip a bit, or declare another size, dimension, type or magic."""
    kind = draw(st.sampled_from(["cut", "append", "flip", "size", "header"]))
    if kind == "cut":
        del data[draw(st.sampled_from(range(len(data) + 1))) :]
    elif kind == "append":
        data += draw(st.sampled_from([b"\0", b"\0" * 40, b"x" * 500, b"\x1f\x8b\x08"]))
    elif kind == "flip" and data:
        data[draw(st.sampled_from(range(len(data))))] ^= 1 << draw(st.integers(0, 7))
    elif kind == "size":
        at = draw(st.sampled_from([4, 8, 12]))
        data[at : at + 4] = draw(st.sampled_from([0, 1, 255, 2**16, 2**31, 2**32 - 1])).to_bytes(4, "big")
    elif len(data) > 3:
        data[draw(st.integers(0, 3))] = draw(st.integers(0, 255))


def inflated(data: bytes) -> bytes:
    """The content as the gzip library sees it; nothing if it is broken, the file itself if it is not gzip."""
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        return gzip.GzipFile(fileobj=io.BytesIO(data)).read()
    except (OSError, EOFError, zlib.error):
        return b""


def content_read(path: Path) -> bytes | None:
    """The data of a file, nothing if it is refused; any other error passes through and fails the test."""
    try:
        return _idx.read(path, limit=LIMIT).tobytes()
    except UserError:
        return None


def test_mutated_files_are_read_exactly_or_refused(tmp_path: Path) -> None:
    seen = {"read": 0, "refused": 0}
    path = tmp_path / "file"

    @settings(max_examples=MUTATIONS)
    @given(mutants())
    def check(mutant: tuple[bytes, bytes | None]) -> None:
        data, content = mutant
        path.write_bytes(data)
        assert content_read(path) == content
        seen["refused" if content is None else "read"] += 1

    check()
    assert seen["read"] + seen["refused"] >= 1000
    assert min(seen.values()) > 100


@pytest.mark.parametrize("declared", [(3, 28, 28), (2**32 - 1,), (1000, 1000, 1000), (2**32 - 1,) * 3])
def test_bombs_need_no_more_memory_than_the_limit(declared: tuple[int, ...], tmp_path: Path) -> None:
    header = bytes([0, 0, 8, len(declared)]) + b"".join(size.to_bytes(4, "big") for size in declared)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(header + bytes(64 * 2**20)))
    assert path.stat().st_size < 100_000
    tracemalloc.start()
    with pytest.raises(UserError, match="declared"):
        _idx.read(path, limit=2**20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * 2**20


def test_a_large_declaration_over_few_bytes_allocates_few(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\0\0\x08\x01" + (2**30).to_bytes(4, "big") + b"few")
    tracemalloc.start()
    with pytest.raises(
        UserError, match=r"byte 11: the file ends, 1073741824 = 1,073,741,824 bytes were declared"
    ):
        _idx.read(path, limit=2**30)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20 + 100_000


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "byte 0: not an idx file: it starts with ''"),
        (b"PK\3\4", "byte 0: not an idx file: it starts with '504b0304'"),
        (b"\0\0\x0d\x01" + bytes(8), "byte 2: type 0x0d"),
        (b"\0\0\x08\x02" + bytes(8), "byte 3: 2 dimensions"),
        (b"\0\0\x08\x03" + bytes(5), "byte 9: the file ends inside its header"),
        (b"\0\0\x08\x01\0\0\0\0", "byte 4: 0 = 0 bytes declared"),
        (b"\0\0\x08\x01\0\0\0\2abc", "byte 10: more bytes follow than the 2 = 2 declared"),
        (b"\x1f\x8bgarbage", "cannot be read"),
    ],
)
def test_refusals_name_the_byte(content: bytes, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(UserError) as refusal:
        _idx.read(path)
    assert str(refusal.value).startswith(f"{path}: {complaint}")


def test_checksum_covers_header_and_data(as_idx: AsIdx, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(as_idx(np.zeros((2, 3, 4), np.uint8)))
    wrong = "0" * 64
    with pytest.raises(UserError, match=f"not {wrong}"):
        _idx.read(path, sha256=wrong)


def test_missing_file_and_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "nothing", tmp_path):
        with pytest.raises(UserError, match="cannot be read"):
            _idx.read(path)
