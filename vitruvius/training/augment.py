"""Random shifts, crops and flips of whole batches, which depend on (seed, epoch, sample) alone.

Shapes: B batch, C channels, H and W the image's sides.
"""

from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample, pad

from vitruvius.training import seeds
from vitruvius.training.recipe import Augment


class Draws(NamedTuple):
    """The random numbers of one epoch, one row per training sample."""

    shift: Tensor  # (n, 2) whole pixels, rows and columns
    crop: Tensor  # (n, 3) in 0..1: side, row, column
    flip: Tensor  # (n,) bool


@lru_cache(maxsize=1)
def draw(seed: int, epoch: int, samples: int, augment: Augment) -> Draws:
    """Draw the random numbers of an epoch for all samples; the shift is in whole pixels (`Augment.on`)."""
    source = seeds.generator(seed, "augment", epoch)
    pixels = int(augment.shift)
    shift = torch.randint(-pixels, pixels + 1, (samples, 2), generator=source)
    crop = torch.rand(samples, 3, generator=source)
    return Draws(shift, crop, torch.rand(samples, generator=source) < 0.5)


def apply(x_BCHW: Tensor, sample_B: Tensor, draws: Draws, augment: Augment) -> Tensor:
    """Return the augmented images of these samples; the dtype (uint8 or float) stays."""
    if augment.flip:
        x_BCHW = torch.where(draws.flip[sample_B, None, None, None], x_BCHW.flip(3), x_BCHW)
    if augment.shift:
        pixels = int(augment.shift)
        x_BCHW = _shifted(x_BCHW, draws.shift[sample_B] + pixels, pixels)
    if augment.crop:
        x_BCHW = _cropped(x_BCHW, draws.crop[sample_B], augment.crop)
    return x_BCHW


def _shifted(x_BCHW: Tensor, start_B2: Tensor, margin: int) -> Tensor:
    B, C, H, W = x_BCHW.shape
    wide_BHWC = pad(x_BCHW, (margin,) * 4).permute(0, 2, 3, 1)
    image_B, row_H, column_W = (torch.arange(count, device=x_BCHW.device) for count in (B, H, W))
    row_BH, column_BW = start_B2[:, :1] + row_H, start_B2[:, 1:] + column_W
    moved_BHWC = wide_BHWC[image_B[:, None, None], row_BH[:, :, None], column_BW[:, None, :]]
    return moved_BHWC.permute(0, 3, 1, 2)


def _cropped(x_BCHW: Tensor, draw_B3: Tensor, crop: float) -> Tensor:
    side_B = 1 - crop * draw_B3[:, 0]
    free_B2 = (1 - side_B)[:, None] * (2 * draw_B3[:, 1:] - 1)  # range of the centre, in -1..1
    theta_B23 = torch.zeros(len(x_BCHW), 2, 3, device=x_BCHW.device)
    theta_B23[:, 0, 0] = theta_B23[:, 1, 1] = side_B
    theta_B23[:, :, 2] = free_B2.flip(1)
    grid = affine_grid(theta_B23, list(x_BCHW.shape), align_corners=False)
    cut = grid_sample(x_BCHW.float(), grid, mode="bilinear", padding_mode="border", align_corners=False)
    return cut.round().to(x_BCHW.dtype) if x_BCHW.dtype == torch.uint8 else cut
