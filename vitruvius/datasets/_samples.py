"""Samples in memory: whether they fit, their mean and standard deviation, and how they are split.

Shapes: B samples, C channels, H height, W width.
"""

import math
from typing import Any

import torch
from torch import Tensor

from vitruvius.arch import cost
from vitruvius.core.errors import UserError
from vitruvius.datasets import Dataset, Split
from vitruvius.datasets._listing import validation_size

AT_A_TIME = 4096  # samples whose pixels are counted together


def refuse_if_too_big(what: str, need: int) -> None:
    """Refuse samples that need more than half of this machine's memory, before anything is allocated."""
    have = cost.memory_bytes()
    if need > have // 2:
        limit = f"more than half of this machine's {have / 2**30:,.1f} GiB"
        raise UserError(f"{what} would need {need / 2**30:,.1f} GiB, {limit}")


def mean_std(x_BCHW: Tensor) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return mean and standard deviation of the pixels of each channel, scaled to 0..1.

    Counting the 256 values is exact in integers and twice as fast as summing floats.

    >>> mean_std(torch.tensor([0, 255], dtype=torch.uint8).view(2, 1, 1, 1))
    ((0.5,), (0.5,))
    """
    level = torch.arange(256, dtype=torch.float64) / 255
    means, deviations = [], []
    for channel in range(x_BCHW.shape[1]):
        # By parts: a set that lies on disk must not come into memory as a whole.
        parts = torch.split(x_BCHW[:, channel], AT_A_TIME)
        counts = sum(
            (torch.bincount(part.reshape(-1), minlength=256) for part in parts),
            torch.zeros(256, dtype=torch.long),
        )
        share = counts / counts.sum().double()
        means.append(float(share @ level))
        deviation = math.sqrt(float(share @ (level - means[-1]) ** 2))
        deviations.append(deviation or 1.0)  # a constant channel is centred, not divided by zero
    return tuple(means), tuple(deviations)


def dataset(x: Tensor, y: Tensor, test: Split, validation: int | None, default: int, **facts: Any) -> Dataset:
    """Make a data set; the last `validation` of the training samples x, y are put aside without a copy."""
    cut = len(x) - validation_size(validation, default, len(x))
    train, put_aside = Split(x[:cut], y[:cut]), Split(x[cut:], y[cut:])
    mean, std = mean_std(train.x) if x.dtype == torch.uint8 else ((), ())
    return Dataset(train=train, validation=put_aside, test=test, mean=mean, std=std, **facts)
