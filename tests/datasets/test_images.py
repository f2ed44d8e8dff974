"""The picture reader gives pixels or a refusal, whatever the bytes, and decodes nothing large."""

import io
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFile

from vitruvius.core.errors import UserError
from vitruvius.datasets import _images

MUTATIONS = 1200


def encoded(image: Image.Image, kind: str, **options: Any) -> bytes:
    """The bytes of a picture file."""
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def random_image(mode: str) -> Image.Image:
    """12 x 10 random pixels."""
    pixels = np.random.default_rng(0).integers(256, size=(10, 12, 3), dtype=np.uint8)
    if mode == "I;16":
        return Image.fromarray(pixels[:, :, 0].astype(np.uint16) * 257)
    return Image.fromarray(pixels).convert(mode)


HEALTHY = [encoded(random_image(mode), "PNG") for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")] + [
    encoded(random_image("L"), "JPEG"),
    encoded(random_image("RGB"), "JPEG", progressive=True),
    encoded(random_image("CMYK"), "JPEG"),
]


def with_png_size(data: bytes, width: int, height: int) -> bytes:
    """The same PNG with another declared size and a checksum to match."""
    header = b"IHDR" + struct.pack(">II", width, height) + data[24:29]
    return data[:12] + header + struct.pack(">I", zlib.crc32(header)) + data[33:]


def with_jpeg_size(data: bytes, width: int, height: int) -> bytes:
    """The same JPEG with another size in its frame header."""
    at = max(data.find(b"\xff\xc0"), data.find(b"\xff\xc2"))
    return data[: at + 5] + struct.pack(">HH", height, width) + data[at + 9 :]


def with_png_checksums(data: bytes) -> bytes:
    """Repair the checksum of every chunk of a PNG, so that injuries reach the decoder behind it."""
    repaired, at = bytearray(data), 8
    while at + 12 <= len(repaired):
        end = at + 8 + int.from_bytes(repaired[at : at + 4], "big")
        repaired[end : end + 4] = (
            struct.pack(">I", zlib.crc32(repaired[at + 4 : end])) if end < len(data) else b""
        )
        at = end + 4
    return bytes(repaired)


@st.composite
def mutants(draw: st.DrawFn) -> bytes:
    """A healthy picture after one or two injuries."""
    data = bytearray(draw(st.sampled_from(HEALTHY)))
    if draw(st.integers(0, 3)) == 0:
        size = draw(st.sampled_from([(0, 5), (1, 1), (65000, 65000), (5000, 4000), (300, 200), (60000, 2)]))
        data = bytearray((with_png_size if data[:4] == b"\x89PNG" else with_jpeg_size)(bytes(data), *size))
    for _ in range(draw(st.integers(1, 2))):
        at = draw(st.sampled_from(range(len(data) or 1)))
        kind = draw(st.sampled_from(["flip", "cut", "insert", "zero tail", "set"]))
        if kind == "flip" and data:
            data[at] ^= 1 << draw(st.integers(0, 7))
        elif kind == "cut":
            del data[at:]
        elif kind == "insert":
            data[at:at] = draw(st.binary(min_size=1, max_size=8))
        elif kind == "zero tail":
            data[at:] = bytes(len(data) - at)
        elif data:
            data[at] = draw(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]))
    return with_png_checksums(bytes(data)) if data[:4] == b"\x89PNG" and draw(st.booleans()) else bytes(data)


def test_mutated_pictures_are_decoded_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {"decoded": 0, "refused": 0}
    decoded_pixels = []
    load = ImageFile.ImageFile.load

    def watched(image: ImageFile.ImageFile) -> Any:
        decoded_pixels.append(image.size[0] * image.size[1])
        return load(image)

    monkeypatch.setattr(ImageFile.ImageFile, "load", watched)

    @settings(max_examples=MUTATIONS, derandomize=True, database=None, deadline=None)
    @given(mutants())
    def check(data: bytes) -> None:
        try:
            pixels = _images.decode(data, 8)
        except UserError:
            seen["refused"] += 1
        else:
            assert pixels.dtype == np.uint8
            assert pixels.shape in ((1, 8, 8), (3, 8, 8))
            seen["decoded"] += 1

    check()
    assert sum(seen.values()) >= 1000
    assert min(seen.values()) > 50
    assert max(decoded_pixels) <= _images.PIXEL_LIMIT


@pytest.mark.parametrize("size", [(4001, 4000), (9000, 9000), (13000, 13000), (20000, 20000)])
@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_more_than_sixteen_megapixels_are_refused_by_their_header(
    kind: str, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(image: ImageFile.ImageFile) -> None:
        pytest.fail("decoded")

    monkeypatch.setattr(ImageFile.ImageFile, "load", never)
    with_size = with_png_size if kind == "PNG" else with_jpeg_size
    with pytest.raises(UserError, match="at most 16 million|decompression bomb"):
        _images.decode(with_size(encoded(random_image("RGB"), kind), *size), 8)


def test_colour_is_three_planes_and_grey_one() -> None:
    red = Image.new("RGB", (5, 9), (255, 128, 0))
    assert _images.decode(encoded(red, "PNG"), 4)[:, 0, 0].tolist() == [255, 128, 0]
    assert _images.decode(encoded(red.convert("L"), "JPEG"), 4).shape == (1, 4, 4)


def test_sixteen_bit_greys_are_scaled_not_clipped() -> None:
    grey = Image.fromarray(np.full((4, 4), 0x8040, np.uint16))
    assert _images.decode(encoded(grey, "PNG"), 4).max() == 0x80


def test_height_and_width_are_not_exchanged() -> None:
    upper_half_white = np.zeros((8, 6), np.uint8)
    upper_half_white[:4] = 255
    pixels = _images.decode(encoded(Image.fromarray(upper_half_white), "PNG"), 8)
    assert pixels[0, 0].min() == 255
    assert pixels[0, -1].max() == 0


def test_camera_orientation_is_followed() -> None:
    left_half_white = np.zeros((8, 8), np.uint8)
    left_half_white[:, :4] = 255
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by a quarter, clockwise
    pixels = _images.decode(encoded(Image.fromarray(left_half_white), "JPEG", exif=exif, quality=95), 8)
    assert pixels[0, 0].min() > 200
    assert pixels[0, -1].max() < 50


@pytest.mark.parametrize("kind", ["GIF", "BMP", "TIFF", "WEBP"])
def test_other_formats_are_refused(kind: str) -> None:
    with pytest.raises(UserError, match="not a PNG or JPEG"):
        _images.decode(encoded(random_image("RGB"), kind), 8)


def test_large_files_are_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_images, "FILE_LIMIT", 10)
    (tmp_path / "a.png").write_bytes(bytes(11))
    with pytest.raises(UserError, match="more than 10 bytes"):
        _images.read(tmp_path / "a.png")
