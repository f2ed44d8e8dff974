"""The rules of `--arch auto`: image side, patch and network by the sizes and the number of the images.

Pure functions of counts, without torch: the same data get the same network everywhere. docs/images.md says
why.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

SIDES = (8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 96, 160, 224)
"""The sides that images are scaled to; each has a patch that cuts it into 4 to 14 patches a side."""
LARGEST_SIDES = ((10_000, 64), (100_000, 96), (1_000_000, 160))
"""Below so many training images, at most this side: a network from scratch does not learn finer detail."""
SMALLEST_PATCH = 2
GRID, LARGE_GRID = 8, 14  # most patches along a side, up to 64 pixels and above


class Size(NamedTuple):
    """A network's size, for data of at least `images` training images."""

    images: int
    width: int
    depth: int
    heads: int
    mlp: int
    dropout: float


NETWORKS = (
    Size(200_000, width=192, depth=9, heads=6, mlp=576, dropout=0.0),
    Size(20_000, width=128, depth=6, heads=4, mlp=256, dropout=0.0),
    Size(5_000, width=96, depth=6, heads=4, mlp=192, dropout=0.1),
    Size(0, width=64, depth=4, heads=4, mlp=128, dropout=0.1),
)


def image_side(shorter_sides: Sequence[int], images: int) -> int:
    """Return the side to which images of these shorter sides are scaled, for so many training images.

    The largest of `SIDES` that is not above the median, so that no pixel is invented, nor above what so many
    images can teach.

    >>> image_side([8], 1_400), image_side([28], 55_000), image_side([480, 4000, 3000], 900)
    (8, 28, 64)
    """
    median = sorted(shorter_sides)[len(shorter_sides) // 2] if shorter_sides else SIDES[0]
    limit = next((side for below, side in LARGEST_SIDES if images < below), SIDES[-1])
    return max((side for side in SIDES if side <= min(median, limit)), default=SIDES[0])


def patch(side: int) -> int:
    """Return the smallest patch that cuts a side into a grid of at most 8 patches, above 64 pixels of 14.

    >>> [patch(side) for side in (8, 28, 32, 64, 96, 224)]
    [2, 4, 4, 8, 8, 16]
    """
    grid = GRID if side <= 64 else LARGE_GRID
    fitting = [size for size in range(SMALLEST_PATCH, side + 1) if side % size == 0 and side // size <= grid]
    return min(fitting, default=side)


def network(side: int, images: int) -> dict[str, Any]:
    """Return the fields of an Arch for squares of this side and so many training images.

    >>> network(8, 1_400)["width"], network(32, 45_000)["width"]
    (64, 128)
    """
    size = next(size for size in NETWORKS if images >= size.images)
    return {"patch": patch(side), **{key: value for key, value in size._asdict().items() if key != "images"}}
