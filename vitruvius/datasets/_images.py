"""Decode an untrusted PNG or JPEG: its size is checked before it is decoded, then it is resized."""

import io
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from vitruvius.core.errors import UserError, reason

FORMATS = ("PNG", "JPEG")
PIXEL_LIMIT = 16_000_000
FILE_LIMIT = 2**27
"""A picture of 16 megapixels with 16-bit colours and no compression has about this many bytes."""
GREY = ("1", "L", "LA", "I", "I;16", "I;16B")


def read(path: Path) -> bytes:
    """Read a plain file of at most FILE_LIMIT bytes."""
    try:
        if not path.is_file():
            raise UserError("not a plain file")
        with open(path, "rb") as file:
            data = file.read(FILE_LIMIT + 1)
    except OSError as error:
        raise UserError(reason(error)) from error
    if len(data) > FILE_LIMIT:
        raise UserError(f"more than {FILE_LIMIT:,} bytes")
    return data


def decode(data: bytes, side: int) -> NDArray[np.uint8]:
    """Return the picture as (1, side, side) if it is greyscale, else (3, side, side), stretched to a square.

    Transparency is dropped; the EXIF orientation is applied.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's remarks on harmless metadata
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            with Image.open(io.BytesIO(data), formats=FORMATS) as image:
                return _pixels(image, side)
        except UserError:
            raise
        except UnidentifiedImageError:
            raise UserError("not a PNG or JPEG") from None
        # hostile files reach struct.error, SyntaxError, KeyError, zlib.error and others inside the decoders
        except Exception as error:
            raise UserError(f"cannot be decoded: {error or type(error).__name__}") from error


def _pixels(image: Image.Image, side: int) -> NDArray[np.uint8]:
    width, height = image.size
    if width * height > PIXEL_LIMIT:
        raise UserError(f"{width} x {height} pixels, at most {PIXEL_LIMIT // 10**6} million are decoded")
    upright = ImageOps.exif_transpose(image)
    plain = _grey(upright) if upright.mode in GREY else upright.convert("RGB")
    small = np.asarray(plain.resize((side, side), Image.Resampling.BILINEAR))
    return small[None] if small.ndim == 2 else np.ascontiguousarray(small.transpose(2, 0, 1))


def _grey(image: Image.Image) -> Image.Image:
    """Convert to 8 bits per pixel; Pillow's own conversion would clip 16-bit greys to white."""
    if image.mode.startswith("I"):
        return Image.fromarray((np.asarray(image).astype(np.int64).clip(0, 65535) >> 8).astype(np.uint8))
    return image.convert("L")
