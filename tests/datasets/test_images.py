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
from PIL import Image, ImageFile, ImageOps

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
    *(encoded(random_image("RGB"), kind) for kind in ("WEBP", "GIF", "BMP", "TIFF")),
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
        size = draw(st.sampled_from([(0, 5), (1, 1), (65000, 65000), (15000, 14000), (300, 200), (60000, 2)]))
        if data[:4] == b"\x89PNG":
            data = bytearray(with_png_size(bytes(data), *size))
        elif data[:2] == b"\xff\xd8":
            data = bytearray(with_jpeg_size(bytes(data), *size))
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

    @settings(max_examples=MUTATIONS)
    @given(mutants())
    def check(data: bytes) -> None:
        try:
            pixels = _images.decode(data, 8).pixels
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


@pytest.mark.parametrize("size", [(14143, 14143), (20000, 20000), (60000, 60000)])
@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_more_than_two_hundred_megapixels_are_refused_by_their_header(
    kind: str, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(image: ImageFile.ImageFile) -> None:
        pytest.fail("decoded")

    monkeypatch.setattr(ImageFile.ImageFile, "load", never)
    with_size = with_png_size if kind == "PNG" else with_jpeg_size
    with pytest.raises(UserError, match="at most 200 million"):
        _images.decode(with_size(encoded(random_image("RGB"), kind), *size), 8)


def test_colour_is_three_planes_and_grey_one() -> None:
    red = Image.new("RGB", (5, 9), (255, 128, 0))
    assert _images.decode(encoded(red, "PNG"), 4).pixels[:, 0, 0].tolist() == [255, 128, 0]
    assert _images.decode(encoded(red.convert("L"), "JPEG"), 4).pixels.shape == (1, 4, 4)


def test_sixteen_bit_greys_are_scaled_not_clipped() -> None:
    grey = Image.fromarray(np.full((4, 4), 0x8040, np.uint16))
    assert _images.decode(encoded(grey, "PNG"), 4).pixels.max() == 0x80


def test_height_and_width_are_not_exchanged() -> None:
    upper_half_white = np.zeros((8, 6), np.uint8)
    upper_half_white[:4] = 255
    pixels = _images.decode(encoded(Image.fromarray(upper_half_white), "PNG"), 8).pixels
    assert pixels[0, 0].min() == 255
    assert pixels[0, -1].max() == 0


def test_camera_orientation_is_followed() -> None:
    left_half_white = np.zeros((8, 8), np.uint8)
    left_half_white[:, :4] = 255
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by a quarter, clockwise
    pixels = _images.decode(
        encoded(Image.fromarray(left_half_white), "JPEG", exif=exif, quality=95), 8
    ).pixels
    assert pixels[0, 0].min() > 200
    assert pixels[0, -1].max() < 50


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP"])
def test_every_format_gives_its_colours(kind: str) -> None:
    options = {"quality": 95} if kind in ("JPEG", "WEBP") else {}
    pixels = _images.decode(encoded(Image.new("RGB", (16, 16), (250, 128, 5)), kind, **options), 4).pixels
    assert np.abs(pixels[:, 1, 1].astype(int) - [250, 128, 5]).max() <= 8


def test_of_moving_pictures_the_first_frame_is_read() -> None:
    frames = [Image.new("RGB", (6, 6), colour) for colour in ("red", "blue")]
    for kind in ("GIF", "WEBP", "TIFF"):
        data = encoded(frames[0], kind, save_all=True, append_images=frames[1:])
        red, _, blue = _images.decode(data, 2).pixels[:, 0, 0]
        assert red > 200 > 60 > blue


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_transparency_is_laid_over_white(mode: str) -> None:
    half = Image.new("RGBA", (8, 8), (0, 0, 0, 0))
    half.paste((0, 0, 0, 255), (0, 0, 8, 4))
    data = encoded(half, "GIF") if mode == "P" else encoded(half.convert(mode), "PNG")
    pixels = _images.decode(data, 8).pixels
    assert pixels[:, 0].max() < 10
    assert pixels[:, -1].min() == 255
    assert len(pixels) == (1 if mode == "LA" else 3)


def test_cmyk_and_palettes_are_colours() -> None:
    red = Image.new("RGB", (16, 16), (230, 20, 20))
    for data in (encoded(red.convert("CMYK"), "TIFF"), encoded(red.convert("P"), "PNG")):
        pixels = _images.decode(data, 4).pixels[:, 0, 0].astype(int)
        assert np.abs(pixels - [230, 20, 20]).max() < 25


def test_float_pictures_are_read_from_zero_to_one_and_refused_otherwise() -> None:
    half = encoded(Image.fromarray(np.full((4, 4), 0.5, np.float32)), "TIFF")
    assert _images.decode(half, 2).pixels.tolist() == [[[128, 128], [128, 128]]]
    with pytest.raises(UserError, match="between 0 and 1"):
        _images.decode(encoded(Image.fromarray(np.full((4, 4), 7, np.float32)), "TIFF"), 2)


def striped(width: int, height: int) -> bytes:
    """A wide or tall picture: red, green and blue thirds along its longer side."""
    pixels = np.zeros((height, width, 3), np.uint8)
    for third in range(3):
        part = slice(third * max(width, height) // 3, (third + 1) * max(width, height) // 3)
        pixels[(slice(None), part) if width > height else part] = np.eye(3, dtype=np.uint8)[third] * 255
    return encoded(Image.fromarray(pixels), "PNG")


@pytest.mark.parametrize("size", [(30, 10), (10, 30)])
def test_fits_keep_the_centre_or_everything_or_stretch(size: tuple[int, int]) -> None:
    data = striped(*size)
    crop = _images.decode(data, 10, "crop").pixels
    pad, squash = _images.decode(data, 30, "pad").pixels, _images.decode(data, 30, "squash").pixels
    assert crop.reshape(3, -1).min(1).tolist() == [0, 255, 0]  # the green third, and nothing else
    bars = pad if size[0] > size[1] else pad.transpose(0, 2, 1)
    assert bars[:, :10].max() == bars[:, 20:].max() == 0
    assert [bars[third, 15, 5 + 10 * third] for third in range(3)] == [255, 255, 255]
    assert [int((squash[third] > 128).sum()) for third in range(3)] == [300, 300, 300]


@pytest.mark.parametrize("fit", ["crop", "pad", "squash"])
@pytest.mark.parametrize("turn", range(1, 9))
def test_every_orientation_gives_what_pillow_gives_before_fitting(turn: int, fit: Any) -> None:
    exif = Image.Exif()
    exif[0x0112] = turn
    data = encoded(random_image("RGB"), "PNG", exif=exif)
    with Image.open(io.BytesIO(data)) as image:
        upright = encoded(ImageOps.exif_transpose(image), "PNG")
        expected = _images.decode(upright, 5, fit)
    found = _images.decode(data, 5, fit)
    assert (found.width, found.height) == (expected.width, expected.height)
    assert np.abs(found.pixels.astype(int) - expected.pixels.astype(int)).max() <= 1


def test_a_turned_tiff_is_turned_once() -> None:
    upper = np.zeros((8, 8), np.uint8)
    upper[:4] = 255
    data = encoded(Image.fromarray(upper), "TIFF", tiffinfo={274: 3})
    assert _images.decode(data, 8).pixels[0, -1].min() == 255


def test_broken_metadata_spoil_no_picture() -> None:
    data = encoded(random_image("RGB"), "PNG", exif=b"Exif\0\0II*\0\xff\xff\xff\x7f")
    assert _images.decode(data, 4).pixels.shape == (3, 4, 4)


def test_a_huge_jpeg_is_decoded_at_reduced_size(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    load = ImageFile.ImageFile.load

    def watched(image: ImageFile.ImageFile) -> Any:
        sizes.append(image.size)
        return load(image)

    monkeypatch.setattr(ImageFile.ImageFile, "load", watched)
    found = _images.decode(encoded(Image.new("RGB", (1600, 1200), (9, 99, 199)), "JPEG"), 32)
    assert (found.width, found.height) == (1600, 1200)
    assert sizes[0] == (200, 150)
    assert np.abs(found.pixels[:, 3, 3].astype(int) - [9, 99, 199]).max() <= 3


def test_heic_is_read_with_its_extra() -> None:
    pillow_heif = pytest.importorskip("pillow_heif")
    buffer = io.BytesIO()
    pillow_heif.from_pillow(Image.new("RGB", (64, 48), (200, 100, 50))).save(buffer)
    found = _images.decode(buffer.getvalue(), 8)
    assert (found.width, found.height) == (64, 48)
    assert np.abs(found.pixels[:, 4, 4].astype(int) - [200, 100, 50]).max() < 12


def test_heic_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_images, "_formats", lambda: _images.FORMATS)
    with pytest.raises(UserError, match=r"HEIC, which needs the extra: pip install 'vitruvius\[heic\]'"):
        _images.decode(b"\0\0\0\x18ftypheic" + bytes(40), 8)


def test_text_is_no_picture() -> None:
    with pytest.raises(UserError, match="not a PNG, JPEG, WebP, GIF, BMP or TIFF"):
        _images.decode(b"hello", 8)


def test_the_size_is_read_from_the_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.png").write_bytes(b"....." + encoded(random_image("RGB"), "PNG"))
    (tmp_path / "b.png").write_bytes(encoded(random_image("RGB"), "PNG"))

    def never(image: ImageFile.ImageFile) -> None:
        pytest.fail("decoded")

    monkeypatch.setattr(ImageFile.ImageFile, "load", never)
    assert _images.size(tmp_path / "b.png") == (12, 10)
    length = (tmp_path / "b.png").stat().st_size
    assert _images.size(tmp_path / "a.png", 5, length) == (12, 10)


def test_large_files_are_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_images, "FILE_LIMIT", 10)
    (tmp_path / "a.png").write_bytes(bytes(11))
    with pytest.raises(UserError, match="more than 10 bytes"):
        _images.read(tmp_path / "a.png")
