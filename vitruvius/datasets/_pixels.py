"""Pixels in memory: whether they fit, their mean and their standard deviation.

Shapes: B samples, C channels, H height, W width.
"""

import math

import torch
from torch import Tensor

from vitruvius.arch import cost
from vitruvius.core.errors import UserError


def refuse_if_too_big(what: str, need: int) -> None:
    """Refuse samples that need more than half of this machine's memory, before anything is allocated."""
    have = cost.memory_bytes()
    if need > have // 2:
        raise UserError(
            f"{what} would need {need / 2**30:,.1f} GiB, more than half of this machine's "
            f"{have / 2**30:,.1f} GiB"
        )


def mean_std(x_BCHW: Tensor) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return mean and standard deviation of the pixels of each channel, scaled to 0..1.

    Counting the 256 values is exact in integers and twice as fast as summing floats.

    >>> mean_std(torch.tensor([0, 255], dtype=torch.uint8).view(2, 1, 1, 1))
    ((0.5,), (0.5,))
    """
    level = torch.arange(256, dtype=torch.float64) / 255
    means, deviations = [], []
    for channel in range(x_BCHW.shape[1]):
        counts = torch.bincount(x_BCHW[:, channel].reshape(-1), minlength=256)
        share = counts / counts.sum().double()
        mean = float(share @ level)
        deviation = math.sqrt(float(share @ (level - mean) ** 2))
        means.append(mean)
        deviations.append(deviation or 1.0)  # a constant channel is centred, not divided by zero
    return tuple(means), tuple(deviations)
