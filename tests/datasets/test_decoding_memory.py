"""A picture is priced by its header: decoding takes no more than that, and what is too dear is refused."""

import struct
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageFile

from tests.datasets.test_images import HEALTHY, encoded, random_image, with_jpeg_size, with_png_size
from vitruvius.core.errors import UserError
from vitruvius.datasets import _decoding_memory, _images

MIB = 2**20


def with_webp_size(data: bytes, width: int, height: int) -> bytes:
    """An animation of one frame, the lossy WebP that is given, on a canvas of another size."""
    canvas = struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3]
    frame = bytes(6) + bytes([11, 0, 0, 9, 0, 0]) + bytes(4) + data[12:]
    chunks = ((b"VP8X", b"\2\0\0\0" + canvas), (b"ANIM", bytes(6)), (b"ANMF", frame))
    inner = b"WEBP" + b"".join(name + struct.pack("<I", len(body)) + body for name, body in chunks)
    return b"RIFF" + struct.pack("<I", len(inner)) + inner


def with_bitstream_size(data: bytes, width: int, height: int) -> bytes:
    """The same lossy WebP, whose picture itself declares another size."""
    return data[:26] + struct.pack("<HH", width, height) + data[30:]


def with_gif_size(data: bytes, width: int, height: int) -> bytes:
    """The same GIF with another size of its screen."""
    return data[:6] + struct.pack("<HH", width, height) + data[10:]


def with_bmp_size(data: bytes, width: int, height: int) -> bytes:
    """The same BMP with another size in its header."""
    return data[:18] + struct.pack("<ii", width, height) + data[26:]


def with_tiff_size(data: bytes, width: int, height: int) -> bytes:
    """The same TIFF with other numbers under its tags of width and height."""
    first = int.from_bytes(data[4:8], "little")
    changed = bytearray(data)
    for entry in range(first + 2, first + 2 + 12 * int.from_bytes(data[first : first + 2], "little"), 12):
        tag = int.from_bytes(data[entry : entry + 2], "little")
        if tag in (256, 257, 278):
            value = width if tag == 256 else height
            changed[entry + 2 : entry + 12] = struct.pack("<HII", 4, 1, value)
    return bytes(changed)


HUGE: dict[str, tuple[Callable[[bytes, int, int], bytes], tuple[int, int], dict[str, Any]]] = {
    "PNG": (with_png_size, (12_000, 12_000), {}),
    "JPEG": (with_jpeg_size, (14_000, 14_000), {"progressive": True, "subsampling": 0}),
    "WEBP": (with_webp_size, (8_000, 5_000), {}),
    "WEBP, bitstream": (with_bitstream_size, (8_000, 5_000), {}),
    "GIF": (with_gif_size, (14_000, 14_000), {}),
    "BMP": (with_bmp_size, (14_000, 14_000), {}),
    "TIFF": (with_tiff_size, (14_000, 14_000), {}),
}


@pytest.mark.parametrize("name", HUGE)
def test_a_picture_of_any_format_that_would_take_too_much_is_refused_by_its_header(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(image: ImageFile.ImageFile) -> None:
        pytest.fail("decoded")

    monkeypatch.setattr(ImageFile.ImageFile, "load", never)
    with_size, size, options = HUGE[name]
    data = with_size(encoded(random_image("RGB"), name.split(",")[0], **options), *size)
    with pytest.raises(UserError, match=rf"decoding {size[0]} x {size[1]} pixels .* at most 480"):
        _images.decode(data, 8)


def test_a_webp_canvas_is_refused_before_the_file_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Image, "open", lambda *_, **__: pytest.fail("opened"))
    data = with_webp_size(encoded(random_image("RGB"), "WEBP"), 60_000, 60_000)
    with pytest.raises(UserError, match="60000 x 60000 pixels, at most 200 million"):
        _images.decode(data, 8)
    (tmp_path / "a.webp").write_bytes(data)
    with pytest.raises(UserError, match="60000 x 60000 pixels, at most 200 million"):
        _images.size(tmp_path / "a.webp")


@pytest.mark.parametrize("options", [{}, {"lossless": True}, {"save_all": True}])
def test_the_header_of_a_webp_gives_its_size(options: dict[str, Any]) -> None:
    data = encoded(random_image("RGB"), "WEBP", **options)
    assert _decoding_memory.webp_canvas(data[:30]) == (12, 10)
    assert _decoding_memory.webp_canvas(with_webp_size(data, 70_000, 3)[:30]) == (70_000, 3)


def test_a_tiled_tiff_is_priced_with_its_tile() -> None:
    tags = {322: 20_000, 323: 10_000, 258: (8, 8, 8), 277: 3}
    tiff: Any = SimpleNamespace(format="TIFF", mode="RGB", size=(12, 10), info={}, tag_v2=tags)
    assert _decoding_memory.price(tiff, (12, 10)) == 8 * 120 + 20_000 * 10_000 * 3
    with pytest.raises(UserError, match="would take 572 MiB"):
        _decoding_memory.refuse_if_too_much(tiff, (12, 10))


@pytest.mark.parametrize("data", HEALTHY, ids=range(len(HEALTHY)))
def test_bands_of_rows_are_converted_as_the_whole_is(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = _images.decode(data, 9).pixels
    monkeypatch.setattr(_images, "BAND", 36)
    assert np.array_equal(_images.decode(data, 9).pixels, whole)


def peak(path: str = "/proc/self/status") -> int:
    """The largest resident memory of this process since it was last reset."""
    line = next(line for line in Path(path).read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def growth(work: Callable[[], Any]) -> int:
    """Return by how many bytes this process grew at most while something was done."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pytest.skip("this system does not tell the memory of a process")
    before = peak()
    work()
    return peak() - before


@pytest.mark.parametrize("fit", ["crop", "pad", "squash"])
def test_a_line_of_sixteen_million_pixels_takes_no_more_than_its_pixels(fit: Any) -> None:
    line = Image.new("L", (16_000_000, 1), 77)
    data = encoded(line, "BMP")
    del line
    sizes = []
    taken = growth(lambda: sizes.append(_images.decode(data, 96, fit).pixels.shape))
    assert sizes == [(1, 96, 96)]
    assert taken < 128 * MIB


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "mode", "options"),
    [
        *(("PNG", mode, {}) for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")),
        ("JPEG", "RGB", {}),
        ("JPEG", "RGB", {"progressive": True}),
        ("JPEG", "CMYK", {"progressive": True}),
        ("WEBP", "RGB", {}),
        ("WEBP", "RGBA", {"lossless": True}),
        ("GIF", "P", {}),
        ("BMP", "RGB", {}),
        ("TIFF", "RGB", {}),
        ("TIFF", "RGB", {"compression": "tiff_lzw", "tiffinfo": {274: 6}}),
        ("TIFF", "F", {}),
    ],
)
def test_decoding_takes_no_more_than_its_price(kind: str, mode: str, options: dict[str, Any]) -> None:
    width, height, side = 5000, 4000, 1250
    data = encoded(Image.new(mode, (width, height), 1), kind, **options)
    with _images._opened(data) as image:
        if kind == "JPEG":
            image.draft(None, (_images.DRAFT * side, _images.DRAFT * side))
        price = _decoding_memory.price(image, (width, height))
    resizing = 4 * side * (side + height)
    assert growth(lambda: _images.decode(data, side)) <= price + resizing + 24 * MIB
