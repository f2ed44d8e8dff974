r"""Mixup (Zhang et al. 2018) and CutMix (Yun et al. 2019): each training image is mixed with another one.

Mixup blends two images, $\lambda x + (1-\lambda) x'$ with $\lambda \sim \mathrm{Beta}(\alpha, \alpha)$;
CutMix pastes a box of $x'$ into $x$, and $\lambda$ is the share of the pixels that are left. The loss counts
both labels, $\lambda\,\ell(y) + (1-\lambda)\,\ell(y')$. With both switched on, a coin decides for each image.

The partner is any sample of the training set and depends on (seed, epoch, sample) alone, as $\lambda$ and
the box do: parts of a batch and several processes therefore mix as one whole batch would.

Shapes: B batch, C channels, H and W the image's sides.
"""

from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from vitruvius.objectives import Batch
from vitruvius.training import seeds
from vitruvius.training.recipe import Mixing


class Mixture(NamedTuple):
    """The random numbers of one epoch, one row per training sample."""

    partner: Tensor  # (n,) another sample
    share: Tensor  # (n,) lambda, float64
    centre: Tensor  # (n, 2) of the box, in 0..1: row, column
    cuts: Tensor  # (n,) bool: a box is pasted, else the images are blended

    def of(self, row_B: Tensor) -> "Mixture":
        """Return these rows."""
        return Mixture(*(values[row_B] for values in self))


@lru_cache(maxsize=1)
def draw(seed: int, epoch: int, samples: int, mixing: Mixing) -> Mixture:
    """Draw the random numbers of an epoch for all samples."""
    source = seeds.generator(seed, "mix", epoch)
    partner = torch.randperm(samples, generator=source)
    uniform = torch.rand(samples, 2, generator=source, dtype=torch.float64)
    centre = torch.rand(samples, 2, generator=source)
    cuts = torch.rand(samples, generator=source) < (0.5 if mixing.mixup else 1.0 if mixing.cutmix else 0.0)
    if not mixing.cutmix:
        cuts = torch.zeros_like(cuts)
    share = torch.where(cuts, _beta(mixing.cutmix, uniform[:, 1]), _beta(mixing.mixup, uniform[:, 0]))
    return Mixture(partner, share, centre, cuts)


def mix(batch: Batch, partner: Batch, mixture: Mixture) -> Batch:
    """Return images mixed with their partners, and how much of each label counts."""
    box_BHW, pasted_B = boxes(mixture, *batch.x.shape[-2:])
    share_B, where = torch.where(mixture.cuts, 1 - pasted_B, mixture.share), batch.x.device
    # The host does not wait for these copies to a GPU.
    share_B = share_B.to(where, batch.x.dtype, non_blocking=True)
    box_BHW, cuts_B = (values.to(where, non_blocking=True) for values in (box_BHW, mixture.cuts))
    blended = partner.x + share_B.view(-1, 1, 1, 1) * (batch.x - partner.x)
    cut = torch.where(box_BHW[:, None], partner.x, batch.x)
    x = torch.where(cuts_B.view(-1, 1, 1, 1), cut, blended)
    return Batch(x, batch.y, partner.y, share_B)


def boxes(mixture: Mixture, height: int, width: int) -> tuple[Tensor, Tensor]:
    """Return the pixels of each box, (B, H, W), and its exact share of the image, as it is cut at the border.

    A box that lies inside the image has the share $1 - \\lambda$ of its pixels, rounded to whole rows.
    """
    half_B = (1 - mixture.share).sqrt() / 2
    inside = []
    for axis, side in enumerate((height, width)):
        middle_B = (mixture.centre[:, axis] * side).floor()
        low_B, high_B = middle_B - (half_B * side).round(), middle_B + (half_B * side).round()
        pixel = torch.arange(side)
        inside.append((pixel >= low_B[:, None]) & (pixel < high_B[:, None]))
    box_BHW = inside[0][:, :, None] & inside[1][:, None, :]
    return box_BHW, box_BHW.double().mean((1, 2))


def _beta(alpha: float, uniform: Tensor) -> Tensor:
    """Turn uniform numbers into Beta(alpha, alpha) by the inverse of its distribution function."""
    if not alpha:
        return torch.ones_like(uniform)
    from scipy.special import betaincinv

    return torch.from_numpy(betaincinv(alpha, alpha, uniform.numpy()))
