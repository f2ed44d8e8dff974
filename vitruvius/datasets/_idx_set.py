"""A data set of four idx files: images and labels for training and for testing."""

import hashlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vitruvius.core.errors import UserError
from vitruvius.datasets import Dataset, Split, _idx, _pixels, _splits

FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
LIMIT = 60_000 * 28 * 28
"""The bytes of the largest of the four files."""


class Known(NamedTuple):
    """The published facts about a data set, known before it is read."""

    name: str
    classes: tuple[str, ...]
    sha256: tuple[str, ...]  # of the raw bytes of FILES: the same for plain, gzipped and repacked copies
    validation: int  # how many training images are put aside by default
    part: str = "full"  # or 'mini'


def spellings(name: str) -> tuple[str, ...]:
    """Return the names that one of FILES may have on disk.

    >>> spellings("t10k-labels-idx1-ubyte")[:2]
    ('t10k-labels-idx1-ubyte.gz', 't10k-labels-idx1-ubyte')
    """
    return tuple(base + end for base in (name, name.replace("-idx", ".idx")) for end in (".gz", ""))


def load(known: Known, paths: list[Path], validation: int | None) -> Dataset:
    """Load a data set from its four files, verified by checksum; split off the validation images."""
    arrays = [
        _idx.read(path, limit=LIMIT, sha256=sha256) for path, sha256 in zip(paths, known.sha256, strict=True)
    ]
    classes = len(known.classes)
    x, y = _labelled(paths[0], arrays[0], arrays[1], classes)
    train, put_aside = _splits.put_aside(x, y, validation, known.validation)
    mean, std = _pixels.mean_std(train.x)
    return Dataset(
        name=known.name,
        train=train,
        validation=put_aside,
        test=Split(*_labelled(paths[2], arrays[2], arrays[3], classes)),
        classes=known.classes,
        mean=mean,
        std=std,
        source=f"{known.part}: {len(arrays[0]):,} training and {len(arrays[2]):,} test images "
        f"from {paths[0].parent}",
        sha256=hashlib.sha256("".join(known.sha256).encode()).hexdigest(),
    )


def _labelled(
    path: Path, images: NDArray[np.uint8], labels: NDArray[np.uint8], classes: int
) -> tuple[Tensor, Tensor]:
    """Return images (B, 1, H, W) and labels (B,); refuse them if they do not belong together."""
    if images.ndim != 3 or labels.ndim != 1:
        raise UserError(f"{path}: images have 3 dimensions and labels 1, not {images.ndim} and {labels.ndim}")
    if len(images) != len(labels):
        raise UserError(f"{path}: {len(images):,} images but {len(labels):,} labels")
    if labels.max() >= classes:
        raise UserError(
            f"{path}: label {labels.max()} at position {labels.argmax()}, labels are 0 to {classes - 1}"
        )
    return torch.from_numpy(images[:, None]), torch.from_numpy(labels.astype(np.int64))
