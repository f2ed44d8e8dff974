"""Batches of a split held in memory: order, normalisation, augmentation. There are no loader processes."""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from vitruvius.core.errors import UserError
from vitruvius.datasets import Dataset, Split
from vitruvius.objectives import Batch
from vitruvius.training import augment, seeds
from vitruvius.training.recipe import Augment


@dataclass(frozen=True)
class Batches:
    """A split from which batches are taken; the order of the samples depends on (seed, epoch) alone."""

    x: Tensor  # uint8 images (n, C, H, W) or float vectors (n, D)
    y: Tensor | None
    mean: Tensor = field(default_factory=lambda: torch.zeros(1))
    std: Tensor = field(default_factory=lambda: torch.ones(1))
    seed: int = 0
    augment: Augment = Augment()
    dtype: torch.dtype = torch.float32
    device: torch.device = torch.device("cpu")

    def __len__(self) -> int:
        return len(self.x)

    def order(self, epoch: int) -> Tensor:
        """Return the indices of all samples in the order of this epoch."""
        return torch.randperm(len(self), generator=seeds.generator(self.seed, "order", epoch))

    def batch(self, sample_B: Tensor, epoch: int | None = None) -> Batch:
        """Return these samples normalised and, if an epoch is given, augmented as in that epoch."""
        x = self.x[sample_B]
        if self.augment.augments and epoch is not None:
            draws = augment.draw(self.seed, epoch, len(self), self.augment)
            x = augment.apply(x, sample_B, draws, self.augment)
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
