r"""Near-duplicates between the parts of a data set, by a perceptual hash and the correlation of the pixels.

The hash of a picture, grey and 32 x 32, is the sign of 64 low frequencies of its discrete cosine transform
$c_{uv} = \sum_{ij} x_{ij} \cos\frac{\pi u (2i+1)}{64} \cos\frac{\pi v (2j+1)}{64}$, $1 \le u, v \le 8$,
against their median. Hashes that differ in at most 6 bits agree in one of 7 bands, so only pictures that
share a band are compared. Shapes: B pictures, C channels, H and W their sides.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import interpolate

from vitruvius.datasets import PARTS, Dataset, Split, stratified_order
from vitruvius.inspecting.results import Comparison, Duplicate

SIDE, FREQUENCIES = 32, 8
MOST_BITS = 6
BANDS = ((0, 10), *((first, 9) for first in range(10, 64, 9)))  # first bit and number of bits
ALIKE = 0.99
CONTRAST = 2.0  # standard deviation of grey levels below which a picture has no hash
MOST_IMAGES = 50_000
MOST_PAIRS = 2_000_000
AT_A_TIME = 1024


class Hashed(NamedTuple):
    """The pictures of a part that have a hash: their rows and their hashes."""

    part: str
    rows: list[int]
    hashes: list[int]


def compare(data: Dataset) -> Comparison:
    """Find the pictures of validation and test that training, and of test that validation, also has."""
    if len(data.shape) != 3:
        return Comparison()
    total = sum(len(getattr(data, part)) for part in PARTS)
    parts = [_hashed(part, getattr(data, part), total) for part in PARTS]
    found: list[Duplicate] = []
    is_complete = True
    for first, second in combinations(parts, 2):
        for count, (one, other) in enumerate(_candidates(first, second)):
            if count >= MOST_PAIRS:
                is_complete = False
                break
            found += _judged(data, (first.part, one), (second.part, other))
    looked_at = sum(_share(len(getattr(data, part)), total) for part in PARTS)
    found.sort(key=lambda pair: -pair.correlation)
    return Comparison(
        duplicates=tuple(found),
        images=sum(len(part.rows) for part in parts),
        left_out=total - looked_at,
        is_complete=is_complete,
    )


def hashes(x_BCHW: Tensor) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Return the hash of each picture, and whether it has contrast enough for one."""
    grey_BHW = _grey(x_BCHW).double()
    basis = torch.cos(
        torch.outer(torch.arange(1, FREQUENCIES + 1), 2 * torch.arange(SIDE) + 1) * torch.pi / (2 * SIDE)
    ).double()
    low = (basis @ grey_BHW @ basis.T).flatten(1)
    bits = (low > low.median(1, keepdim=True).values).numpy()
    powers = np.uint64(1) << np.arange(64, dtype=np.uint64)
    values = (bits.astype(np.uint64) * powers).sum(1, dtype=np.uint64)
    return values, (grey_BHW.flatten(1).std(1) >= CONTRAST).numpy()


def correlation(one: Tensor, other: Tensor) -> float:
    """Return the correlation of two pictures (C, H, W), grey and 32 x 32."""
    flat = _grey(torch.stack([one, other])).flatten(1).double()
    flat = flat - flat.mean(1, keepdim=True)
    lengths = flat.norm(dim=1).prod()
    return float(flat[0] @ flat[1] / lengths) if lengths else 0.0


def _grey(x_BCHW: Tensor) -> Tensor:
    """Return pictures as (B, 32, 32)."""
    grey = x_BCHW.float().mean(1, keepdim=True)
    if tuple(grey.shape[2:]) == (SIDE, SIDE):
        return grey[:, 0]
    return interpolate(grey, (SIDE, SIDE), mode="bilinear", antialias=True, align_corners=False)[:, 0]


def _share(size: int, total: int) -> int:
    """Return how many pictures of a part are looked at, in proportion if there are too many in all."""
    return size if total <= MOST_IMAGES else size * MOST_IMAGES // total


def _hashed(part: str, split: Split, total: int) -> Hashed:
    rows = list(range(len(split)))
    if total > MOST_IMAGES:
        labels = [0] * len(split) if split.y is None else split.y.tolist()
        rows = sorted(stratified_order(labels, 0)[: _share(len(split), total)])
    kept: list[int] = []
    found: list[int] = []
    for start in range(0, len(rows), AT_A_TIME):
        some = rows[start : start + AT_A_TIME]
        values, has_contrast = hashes(split.x[some])
        for row, value, is_good in zip(some, values.tolist(), has_contrast.tolist(), strict=True):
            if is_good:
                kept.append(row)
                found.append(value)
    return Hashed(part, kept, found)


def _candidates(one: Hashed, other: Hashed) -> Iterator[tuple[int, int]]:
    """Yield the rows of pictures of two parts whose hashes differ in at most MOST_BITS bits."""
    for number, (first, size) in enumerate(BANDS):
        buckets: defaultdict[int, list[int]] = defaultdict(list)
        for index, value in enumerate(one.hashes):
            buckets[_band(value, first, size)].append(index)
        for row, value in zip(other.rows, other.hashes, strict=True):
            for index in buckets.get(_band(value, first, size), ()):
                difference = one.hashes[index] ^ value
                if difference.bit_count() <= MOST_BITS and not _agree_before(difference, number):
                    yield one.rows[index], row


def _band(value: int, first: int, size: int) -> int:
    return value >> first & ((1 << size) - 1)


def _agree_before(difference: int, number: int) -> bool:
    """Whether an earlier band agrees too, where the pair has been found already."""
    return any(_band(difference, first, size) == 0 for first, size in BANDS[:number])


def _judged(data: Dataset, one: tuple[str, int], other: tuple[str, int]) -> list[Duplicate]:
    splits = [getattr(data, part) for part, _ in (one, other)]
    value = correlation(splits[0].x[one[1]], splits[1].x[other[1]])
    if value < ALIKE:
        return []
    names = [_name(split, row) for split, (_, row) in zip(splits, (one, other), strict=True)]
    return [
        Duplicate(
            part=one[0],
            name=names[0],
            other_part=other[0],
            other=names[1],
            correlation=round(min(1.0, value), 4),
        )
    ]


def _name(split: Split, row: int) -> str:
    return split.names[row] if split.names else f"image {row}"
