"""Data in memory as the training loop eats them: order, batches, normalisation, augmentation. No loader processes."""

from dataclasses import dataclass, field
from functools import lru_cache

import torch
from torch import Tensor

from vitruvius.core.errors import UserError
from vitruvius.datasets import Dataset, Split
from vitruvius.objectives import Batch
from vitruvius.training import augment, seeds
from vitruvius.training.augment import Augment


@dataclass(frozen=True)
class Feed:
    """One split of a data set, ready to be cut into batches; the order of an epoch depends on (seed, epoch) alone."""

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
        """The samples in the order in which an epoch sees them."""
        return torch.randperm(len(self), generator=seeds.generator(self.seed, "order", epoch))

    def batch(self, sample_B: Tensor, epoch: int | None = None) -> Batch:
        """These samples as the model sees them; with an epoch, as that epoch's augmentation shows them."""
        x = self.x[sample_B]
        if self.augment and epoch is not None:
            x = augment.apply(x, sample_B, _draws(self.seed, epoch, len(self), self.augment), self.augment)
        y = None if self.y is None else self.y[sample_B].to(self.device)
        return Batch(self.normalised(x), y)

    def normalised(self, x: Tensor) -> Tensor:
        """Pixels in 0..1, minus mean, over deviation; vectors as they are."""
        x = x.to(self.device, self.dtype)
        if self.x.dtype == torch.uint8:
            x = (x / 255 - self.mean.to(x)) / self.std.to(x)
        return x


@lru_cache(maxsize=1)
def _draws(seed: int, epoch: int, samples: int, what: Augment) -> augment.Draws:
    return augment.draw(seed, epoch, samples, what)


def feed(data: Dataset, split: Split, **options: object) -> Feed:
    """A split of a data set with its normalisation."""
    if not data.mean:
        return Feed(split.x, split.y, **options)  # type: ignore[arg-type]
    mean, std = (torch.tensor(values).view(-1, 1, 1) for values in (data.mean, data.std))
    return Feed(split.x, split.y, mean, std, **options)  # type: ignore[arg-type]


def require_classes(data: Dataset) -> None:
    """Refuse data that no classifier can learn from: empty, unlabelled or of one class, with the class counts."""
    if not len(data.train):
        raise UserError(f"{data.name}: there are no training samples")
    if data.train.y is None or not data.classes:
        raise UserError(
            f"{data.name}: {len(data.train):,} samples without labels; training a classifier needs labels"
        )
    counts = torch.bincount(data.train.y, minlength=len(data.classes)).tolist()
    if sum(count > 0 for count in counts) < 2:
        shown = ", ".join(f"{name}: {count:,}" for name, count in zip(data.classes, counts, strict=True))
        raise UserError(f"{data.name}: the training samples are of one class only ({shown})")
