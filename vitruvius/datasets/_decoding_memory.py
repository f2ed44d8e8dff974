"""The memory that decoding a picture takes, from its header alone; a picture that takes too much is refused.

Bytes per pixel are those of the dearest moment: the decoder's own buffers, the decoded picture, and its copy
as 8 bits without transparency.
"""

from typing import Any

from PIL import Image

from vitruvius.core.errors import UserError

LIMIT = 480 * 2**20
"""Most bytes that decoding one picture may take beside the file itself."""
WIDE = 4
"""Bytes of a pixel in Pillow, whatever its mode; grey and palette pixels take one, 16-bit grey ones two."""
NARROW = {"1": 1, "L": 1, "P": 1, "I;16": 2, "I;16B": 2, "I;16L": 2, "I;16N": 2}
WEBP, HEIF = 17, 16
"""Two canvases of the animation decoder, its output and the picture; planes, output and the picture."""
COEFFICIENT = 2
TILE_WIDTH, TILE_HEIGHT, STRIP_ROWS = 322, 323, 278  # tags of a TIFF
SAMPLES, BITS = 277, 258


def refuse_if_too_much(image: Image.Image, stored: tuple[int, int]) -> None:
    """Refuse a picture that is open but not decoded; `stored` is its size in the file, before any draft."""
    need = price(image, stored)
    if need > LIMIT:
        size = f"{stored[0]} x {stored[1]} pixels of a {image.format}"
        raise UserError(
            f"decoding {size} would take {need / 2**20:,.0f} MiB, at most {LIMIT // 2**20} are taken"
        )


def price(image: Image.Image, stored: tuple[int, int]) -> int:
    """Return the bytes that decoding takes; the size of a JPEG is that of its draft."""
    pixels = image.size[0] * image.size[1]
    if image.format == "WEBP":
        return WEBP * pixels
    if image.format == "HEIF":
        return HEIF * pixels
    is_plain = image.mode in ("L", "RGB") and "transparency" not in image.info
    each = NARROW.get(image.mode, WIDE) + (0 if is_plain else WIDE)
    if image.format in ("JPEG", "MPO"):
        return each * pixels + _coefficients(image, stored)
    if image.format == "TIFF":
        return (each + WIDE) * pixels + _tile(image)  # turned upright, it exists twice
    return each * pixels


def webp_canvas(head: bytes) -> tuple[int, int] | None:
    """Return the size that the first 30 bytes of a WebP file declare, None if it is none.

    Pillow takes memory for the canvas when it opens the file, before it tells its size.
    """
    if head[:4] != b"RIFF" or head[8:12] != b"WEBP" or len(head) < 30:
        return None
    if head[12:16] == b"VP8X":
        return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
    if head[12:16] == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    width, height = (int.from_bytes(head[at : at + 2], "little") & 0x3FFF for at in (26, 28))
    return width, height


def _coefficients(image: Image.Image, stored: tuple[int, int]) -> int:
    """Return the bytes of a progressive JPEG's coefficients, which are kept until the last scan."""
    if not image.info.get("progressive"):
        return 0
    layers: list[Any] = getattr(image, "layer", [])
    factors = [across * down for _, across, down, _ in layers]
    share = sum(factors) / max(factors) if factors and max(factors) else len(image.getbands())
    return int(COEFFICIENT * share * stored[0] * stored[1])


def _tile(image: Image.Image) -> int:
    """Return the bytes of one strip or tile of a TIFF, which is decompressed as a whole."""
    tags: Any = getattr(image, "tag_v2", {})
    width = _number(tags.get(TILE_WIDTH), image.size[0])
    rows = _number(tags.get(TILE_HEIGHT), min(image.size[1], _number(tags.get(STRIP_ROWS), image.size[1])))
    bits = _number(tags.get(BITS), 8) * _number(tags.get(SAMPLES), 1)
    return width * rows * -(-bits // 8)


def _number(value: Any, default: int) -> int:
    """Return the largest number of a tag, or the default if it holds none."""
    values = value if isinstance(value, tuple) else (value,)
    return max((int(one) for one in values if isinstance(one, int) and one > 0), default=default)
