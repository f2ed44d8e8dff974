"""Decode an untrusted picture: its memory is priced before it is decoded, then it is fitted into a square.

PNG, JPEG, WebP, GIF and TIFF (the first frame or page), BMP, and HEIC with the extra `heic`. JPEGs are
decoded at reduced size where that is enough; transparency is laid over white, EXIF turns the picture upright.
"""

import io
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from vitruvius.core.errors import UserError, reason
from vitruvius.datasets import _decoding_memory
from vitruvius.datasets._survey import Fit

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF")
SUFFIXES = (".png", ".jpg", ".jpeg", ".jfif", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".heic", ".heif")
PIXEL_LIMIT = 200_000_000
FILE_LIMIT = 2**29
GREY = ("1", "L", "LA", "La", "I", "F", "I;16", "I;16B", "I;16L", "I;16N")
SIXTEEN_BIT = ("I", "I;16", "I;16B", "I;16L", "I;16N")
DRAFT = 2
"""A JPEG is decoded at no less than so many times the side, so that the resizing filter has its pixels."""
GAP = 4.0  # the same for the box filter that comes before the resizing filter in very large reductions
BAND = 2**20  # pixels that are converted at a time
ORIENTATION = 0x0112
TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


class Decoded(NamedTuple):
    """A picture as bytes (1 or 3, side, side), and its own size when held upright."""

    pixels: NDArray[np.uint8]
    width: int
    height: int


def read(path: Path, offset: int = 0, length: int | None = None) -> bytes:
    """Read a plain file, or a stretch of one, of at most FILE_LIMIT bytes."""
    try:
        if not path.is_file():
            raise UserError("not a plain file")
        size = os.path.getsize(path) if length is None else length
        if size > FILE_LIMIT:
            raise UserError(f"more than {FILE_LIMIT:,} bytes")
        with open(path, "rb") as file:
            file.seek(offset)
            return file.read(size)
    except OSError as error:
        raise UserError(reason(error)) from error


def decode(data: bytes, side: int, fit: Fit = "squash") -> Decoded:
    """Decode a picture as a square of `side` pixels, of one plane if it is grey, else three.

    `squash` stretches it, `crop` keeps the centre, `pad` keeps everything between black bars.
    """
    with _opened(data) as image:
        width, height = stored = image.size
        is_jpeg = image.format in ("JPEG", "MPO")
        if is_jpeg:
            image.draft(None, (DRAFT * side, DRAFT * side))
        _decoding_memory.refuse_if_too_much(image, stored)
        image.load()
        if not is_jpeg:
            width, height = image.size  # a TIFF is turned upright as it is loaded
        turn = _orientation(image)
        small = _fitted(_plain(image), side, fit)
        # On the few pixels that are left: the fits treat all sides alike.
        upright = np.asarray(small.transpose(TURNS[turn]) if turn in TURNS else small)
        if turn in TURNS and turn >= 5:
            width, height = height, width
        if image.mode in GREY:
            return Decoded((upright if upright.ndim == 2 else upright[:, :, 0])[None].copy(), width, height)
        return Decoded(np.ascontiguousarray(upright.transpose(2, 0, 1)), width, height)


def size(path: Path, offset: int = 0, length: int | None = None) -> tuple[int, int]:
    """Return width and height as the picture is stored; of a whole file only the header is read."""
    if length is None and not path.is_file():
        raise UserError("not a plain file")
    with _opened(path if length is None else read(path, offset, length)) as image:
        return image.size


@contextmanager
def _opened(source: bytes | Path) -> Iterator[Image.Image]:
    """Open a picture of at most PIXEL_LIMIT pixels; every fault inside is a `UserError`."""
    before = Image.MAX_IMAGE_PIXELS
    with warnings.catch_warnings(action="ignore"):  # Pillow's remarks on harmless metadata
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            Image.MAX_IMAGE_PIXELS = PIXEL_LIMIT
            _refuse_too_large(_decoding_memory.webp_canvas(_head(source)))
            file = io.BytesIO(source) if isinstance(source, bytes) else source
            with Image.open(file, formats=_formats()) as image:
                _refuse_too_large(image.size)
                yield image
        except UserError:
            raise
        except (Image.DecompressionBombWarning, Image.DecompressionBombError):
            raise UserError(_too_large("too many")) from None
        except UnidentifiedImageError:
            raise UserError(_not_a_picture(source if isinstance(source, bytes) else b"")) from None
        # hostile files reach struct.error, SyntaxError, KeyError, zlib.error and others inside the decoders
        except Exception as error:
            raise UserError(f"cannot be decoded: {error or type(error).__name__}") from error
        finally:
            Image.MAX_IMAGE_PIXELS = before


def _head(source: bytes | Path) -> bytes:
    """Return the first bytes of a picture."""
    if isinstance(source, bytes):
        return source[:30]
    with open(source, "rb") as file:
        return file.read(30)


def _refuse_too_large(size: tuple[int, int] | None) -> None:
    if size is not None and size[0] * size[1] > PIXEL_LIMIT:
        raise UserError(_too_large(f"{size[0]} x {size[1]}"))


def _too_large(size: str) -> str:
    return f"{size} pixels, at most {PIXEL_LIMIT // 10**6} million are decoded"


@cache
def _formats() -> tuple[str, ...]:
    """Return the formats that are read; HEIC if its package is installed."""
    with suppress(ImportError):
        import pillow_heif

        pillow_heif.register_heif_opener()
        return (*FORMATS, "HEIF")
    return FORMATS


def _not_a_picture(data: bytes) -> str:
    """Say what a file without a known format is."""
    if data[4:8] == b"ftyp" and data[8:12] in (b"heic", b"heix", b"mif1", b"msf1", b"hevc"):
        return "HEIC, which needs the extra: pip install 'vitruvius[heic]'"
    return "not a PNG, JPEG, WebP, GIF, BMP or TIFF"


def _fitted(image: Image.Image, side: int, fit: Fit) -> Image.Image:
    """Resize a picture to a square."""
    width, height = image.size
    if fit == "crop":
        short = min(width, height)
        left, top = (width - short) / 2, (height - short) / 2
        return _resized(image, (side, side), (left, top, left + short, top + short))
    if fit == "pad":
        # Bars of equal width on both sides, so that a turned picture is treated alike.
        left, top = (_bar(side, length / max(width, height)) for length in (width, height))
        square = Image.new(image.mode, (side, side))
        square.paste(_resized(image, (side - 2 * left, side - 2 * top)), (left, top))
        return square
    return _resized(image, (side, side))


def _bar(side: int, fraction: float) -> int:
    """Return the width of each of the two bars beside what takes this fraction of a side."""
    return min((side - 1) // 2, round(side * (1 - fraction) / 2))


def _resized(
    image: Image.Image, size: tuple[int, int], box: tuple[float, float, float, float] | None = None
) -> Image.Image:
    return image.resize(size, Image.Resampling.BILINEAR, box=box, reducing_gap=GAP)


def _orientation(image: Image.Image) -> int:
    """Return the EXIF orientation that is left to apply; broken metadata spoil no picture."""
    try:
        return int(image.getexif().get(ORIENTATION, 1))
    except Exception:
        return 1


def _plain(image: Image.Image) -> Image.Image:
    """Convert to 8 bits, grey or RGB, with transparency laid over white.

    A band of rows at a time: only the picture and its conversion exist as a whole.
    """
    is_transparent = image.mode not in (*SIXTEEN_BIT, "F") and (
        image.mode in ("LA", "La", "PA", "RGBA", "RGBa") or "transparency" in image.info
    )
    mode = "L" if image.mode in GREY and not is_transparent else "RGB"
    if image.mode == mode and not is_transparent:
        return image
    (width, height), converted = image.size, Image.new(mode, image.size)
    rows = max(1, BAND // width)
    for top in range(0, height, rows):
        band = image.crop((0, top, width, min(height, top + rows)))
        converted.paste(_over_white(band) if is_transparent else _eight_bits(band, mode), (0, top))
    return converted


def _over_white(image: Image.Image) -> Image.Image:
    colours = image.convert("RGBA")
    white = Image.new("RGBA", colours.size, (255, 255, 255, 255))
    return Image.alpha_composite(white, colours).convert("RGB")


def _eight_bits(image: Image.Image, mode: str) -> Image.Image:
    if image.mode in SIXTEEN_BIT:
        # Pillow's own conversion would clip 16-bit greys to white
        return Image.fromarray((np.asarray(image).astype(np.int64).clip(0, 65535) >> 8).astype(np.uint8))
    if image.mode == "F":
        values = np.asarray(image)
        if not (np.isfinite(values).all() and values.min() >= 0 and values.max() <= 1):
            raise UserError("its numbers are not all between 0 and 1")
        return Image.fromarray((values * 255).round().astype(np.uint8))
    return image.convert(mode)
