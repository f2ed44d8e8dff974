"""Random shifts, crops, rotations, flips, operations and noise, which depend on (seed, epoch, sample) alone.

Shapes: B batch, C channels, H and W the image's sides.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample, pad

from vitruvius.training import randaugment, seeds
from vitruvius.training.recipe import Augment

ERASED = (0.02, 0.33)
"""Smallest and largest share of an image that a box of noise covers (Zhong et al. 2020)."""
LONGEST = 3.3
"""Largest ratio of the sides of such a box."""
NOISE = 2**16
"""Random bytes of one epoch, from which boxes are filled."""


class Draws(NamedTuple):
    """The random numbers of one epoch, one row per training sample."""

    shift: Tensor  # (n, 2) whole pixels, rows and columns
    crop: Tensor  # (n, 3) in 0..1: side, row, column
    flip: Tensor  # (n,) bool
    operations: Tensor | None = None  # (n, 2) of RandAugment
    signs: Tensor | None = None  # (n, 2) of these
    erase: Tensor | None = None  # (n, 6) in 0..1: whether, area, ratio, row, column, offset in the noise
    noise: Tensor | None = None  # bytes, of which every box takes a part
    angle: Tensor | None = None  # (n,) in -1..1

    def of(self, row_B: Tensor, device: torch.device) -> "Draws":
        """Return these rows on a device; the noise is one for all rows."""
        known = {name: value for name, value in self._asdict().items() if value is not None}
        rows = {name: value if name == "noise" else value[row_B] for name, value in known.items()}
        return Draws(**{name: value.to(device, non_blocking=True) for name, value in rows.items()})


@lru_cache(maxsize=1)
def draw(seed: int, epoch: int, samples: int, augment: Augment) -> Draws:
    """Draw the random numbers of an epoch for all samples; the shift is in whole pixels (`Augment.on`)."""
    source = seeds.generator(seed, "augment", epoch)
    pixels = int(augment.shift)
    shift = torch.randint(-pixels, pixels + 1, (samples, 2), generator=source)
    crop = torch.rand(samples, 3, generator=source)
    draws = Draws(shift, crop, torch.rand(samples, generator=source) < 0.5)
    if augment.randaugment:
        operations, signs = randaugment.draw(seed, epoch, samples)
        draws = draws._replace(operations=operations, signs=signs)
    if augment.erase:
        source = seeds.generator(seed, "erase", epoch)
        boxes = torch.rand(samples, 6, generator=source)
        noise = torch.randint(256, (NOISE,), generator=source, dtype=torch.uint8)
        draws = draws._replace(erase=boxes, noise=noise)
    if augment.rotate:
        source = seeds.generator(seed, "rotate", epoch)
        draws = draws._replace(angle=2 * torch.rand(samples, generator=source) - 1)
    return draws


def apply(x_BCHW: Tensor, sample_B: Tensor, draws: Draws, augment: Augment) -> Tensor:
    """Return the augmented images of these samples; the dtype (uint8 or float) stays."""
    if augment.flip:
        x_BCHW = torch.where(draws.flip[sample_B, None, None, None], x_BCHW.flip(3), x_BCHW)
    if augment.shift:
        pixels = int(augment.shift)
        x_BCHW = _shifted(x_BCHW, draws.shift[sample_B] + pixels, pixels)
    if augment.resamples:
        angle_B = None if draws.angle is None else draws.angle[sample_B]
        x_BCHW = _resampled(x_BCHW, draws.crop[sample_B], angle_B, augment)
    if draws.operations is not None and draws.signs is not None:
        chosen = draws.operations[sample_B], draws.signs[sample_B]
        x_BCHW = randaugment.apply(x_BCHW, *chosen, augment.randaugment)
    if draws.erase is not None and draws.noise is not None:
        x_BCHW = _erased(x_BCHW, draws.erase[sample_B], draws.noise, augment.erase)
    return x_BCHW


def _shifted(x_BCHW: Tensor, start_B2: Tensor, margin: int) -> Tensor:
    B, _, H, W = x_BCHW.shape
    # A view of all windows (B, C, row, column, H, W): choosing one copies rows, not single pixels.
    windows = pad(x_BCHW, (margin,) * 4).unfold(2, H, 1).unfold(3, W, 1)
    return windows[torch.arange(B, device=x_BCHW.device), :, start_B2[:, 0], start_B2[:, 1]]


def _resampled(x_BCHW: Tensor, draw_B3: Tensor, angle_B: Tensor | None, augment: Augment) -> Tensor:
    """Cut a square out of each image and rotate it, in one interpolation; beyond the edge is the edge."""
    side_B = 1 - augment.crop * draw_B3[:, 0]
    free_B2 = (1 - side_B)[:, None] * (2 * draw_B3[:, 1:] - 1)  # range of the centre, in -1..1
    theta_B23 = torch.zeros(len(x_BCHW), 2, 3, device=x_BCHW.device)
    theta_B23[:, 0, 0] = theta_B23[:, 1, 1] = side_B
    theta_B23[:, :, 2] = free_B2.flip(1)
    if angle_B is not None:
        radian_B = angle_B * math.radians(augment.rotate)
        theta_B23[:, 0, 0] = theta_B23[:, 1, 1] = side_B * radian_B.cos()
        theta_B23[:, 0, 1] = -side_B * radian_B.sin()
        theta_B23[:, 1, 0] = side_B * radian_B.sin()
    grid = affine_grid(theta_B23, list(x_BCHW.shape), align_corners=False)
    cut = grid_sample(x_BCHW.float(), grid, mode="bilinear", padding_mode="border", align_corners=False)
    return cut.round().to(x_BCHW.dtype) if x_BCHW.dtype == torch.uint8 else cut


def _erased(x_BCHW: Tensor, draw_B6: Tensor, noise: Tensor, chance: float) -> Tensor:
    """Replace a box by noise in some of the images; of bytes by bytes, of numbers by numbers in -1..1."""
    B, C, H, W = x_BCHW.shape
    low, high = ERASED
    area_B = low + (high - low) * draw_B6[:, 1]
    ratio_B = LONGEST ** (2 * draw_B6[:, 2] - 1)
    inside = []
    for side, length_B, uniform_B in (
        (H, (area_B * ratio_B).sqrt(), draw_B6[:, 3]),
        (W, (area_B / ratio_B).sqrt(), draw_B6[:, 4]),
    ):
        size_B = (length_B * side).round().clamp(1, side)
        start_B = (uniform_B * (side - size_B + 1)).floor()
        pixel = torch.arange(side, device=x_BCHW.device)
        inside.append((pixel >= start_B[:, None]) & (pixel < (start_B + size_B)[:, None]))
    box_BHW = inside[0][:, :, None] & inside[1][:, None, :] & (draw_B6[:, 0] < chance)[:, None, None]
    first_B = (draw_B6[:, 5] * NOISE).long()
    pixel = torch.arange(C * H * W, device=x_BCHW.device)
    filled = noise[(first_B[:, None] + pixel) % NOISE].view(B, C, H, W)
    if x_BCHW.dtype != torch.uint8:
        filled = filled.to(x_BCHW.dtype) / 127.5 - 1
    return torch.where(box_BHW[:, None], filled, x_BCHW)
