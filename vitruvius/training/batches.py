"""Batches of a split held in memory: order, normalisation, augmentation. There are no loader processes.

A batch is named by *views*. Usually a view is the index of a sample, and the random numbers of the sample are
those of its index. Where an epoch sees samples more than once (`Sampling`), view v of n samples is sample
v % n with the random numbers of row v // n, so that no two views of a sample are augmented alike.
"""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from vitruvius.core.errors import UserError
from vitruvius.datasets import Dataset, Split
from vitruvius.objectives import Batch
from vitruvius.training import augment, mixing, sampling, seeds
from vitruvius.training.recipe import Augment, Mixing, Sampling


@dataclass(frozen=True)
class Batches:
    """A split from which batches are taken; the order of the samples depends on (seed, epoch) alone."""

    x: Tensor  # uint8 images (n, C, H, W) or float vectors (n, D)
    y: Tensor | None
    mean: Tensor = field(default_factory=lambda: torch.zeros(1))
    std: Tensor = field(default_factory=lambda: torch.ones(1))
    seed: int = 0
    augment: Augment = Augment()
    mixing: Mixing = Mixing()
    sampling: Sampling = Sampling()
    dtype: torch.dtype = torch.float32
    device: torch.device = torch.device("cpu")

    def __post_init__(self) -> None:
        if self.augment.randaugment and self.x.dtype != torch.uint8:
            raise UserError("--randaugment changes pictures: samples of numbers have no colours")

    def __len__(self) -> int:
        return len(self.x)

    def order(self, epoch: int) -> Tensor:
        """Return the views of this epoch in their order; usually every sample once."""
        order = torch.randperm(len(self), generator=seeds.generator(self.seed, "order", epoch))
        if self.sampling.balance == "sampling":
            assert self.y is not None
            order = sampling.balanced(self.y, order, seeds.generator(self.seed, "balance", epoch))
        if self.sampling.repeat > 1:
            order = sampling.repeated(order, self.sampling.repeat)
        return order + len(self) * torch.arange(len(order)) if self._sees_again else order

    def batch(self, view_B: Tensor, epoch: int | None = None) -> Batch:
        """Return these views normalised and, if an epoch is given, augmented and mixed as in that epoch."""
        if epoch is None:
            return self._batch(view_B, view_B, None)
        row_B = view_B // len(self) if self._sees_again else view_B
        batch = self._batch(view_B % len(self) if self._sees_again else view_B, row_B, epoch)
        if not self.mixing.mixes:
            return batch
        mixture = mixing.draw(self.seed, epoch, len(self), self.mixing).of(row_B)
        return mixing.mix(batch, self._batch(mixture.partner, mixture.partner, epoch), mixture)

    @property
    def _sees_again(self) -> bool:
        return self.sampling.repeat > 1 or self.sampling.balance == "sampling"

    def _batch(self, sample_B: Tensor, row_B: Tensor, epoch: int | None) -> Batch:
        """Return samples, augmented by these rows of the random numbers of an epoch."""
        x = self.x[sample_B]
        if self.augment.augments and epoch is not None:
            draws = augment.draw(self.seed, epoch, len(self), self.augment)
            x = augment.apply(x, row_B, draws, self.augment)
        y = None if self.y is None else self.y[sample_B].to(self.device)
        return Batch(self.normalised(x), y)

    def normalised(self, x: Tensor) -> Tensor:
        """Scale bytes to 0..1, subtract the mean, divide by the standard deviation; leave floats alone."""
        x = x.to(self.device, self.dtype)
        if self.x.dtype == torch.uint8:
            x = (x / 255 - self.mean.to(x)) / self.std.to(x)
        return x


def batches_of(data: Dataset, split: Split, **options: Any) -> Batches:
    """Return the batches of a split, normalised with the mean and standard deviation of its data set."""
    if data.mean:
        options["mean"], options["std"] = (torch.tensor(v).view(-1, 1, 1) for v in (data.mean, data.std))
    return Batches(split.x, split.y, **options)


def require_classes(data: Dataset) -> None:
    """Refuse data that no classifier can learn from: no samples, no labels, or only one class."""
    if not len(data.train):
        raise UserError(f"{data.name}: there are no training samples")
    counts = data.class_counts()
    if not counts:
        why = f"{len(data.train):,} samples without labels; training a classifier needs labels"
        raise UserError(f"{data.name}: {why}")
    if sum(count > 0 for count in counts.values()) < 2:
        shown = ", ".join(f"{name}: {count:,}" for name, count in counts.items())
        raise UserError(f"{data.name}: the training samples are of one class only ({shown})")
