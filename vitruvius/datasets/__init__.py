"""Data sets: functions that return a `Dataset`. A member is one function, named like its file.

Laws, tested over the folder: shapes agree with `shape`, labels lie in range, the splits are disjoint, the same seed
gives the same data, and bytes read from disk are verified by checksum where one is known.

Every member takes `validation` (how many training samples are put aside; None = the member's default) and `seed`.
A name may carry an argument after a colon: `folder:PATH`, `noise:3x32x32`, `cifar:100`.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vitruvius.core import plugins

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Split:
    """Samples in memory: images as uint8 (B, C, H, W) or vectors as float32 (B, D), with labels if there are any."""

    x: "Tensor"
    y: "Tensor | None"  # int64 (B,)

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True)
class Dataset:
    """A data set in memory with its three parts, and where it came from."""

    name: str  # 'mnist', 'fashion_mnist (mini)', ...: results print it
    train: Split
    validation: Split
    test: Split
    classes: tuple[str, ...]  # empty without labels
    mean: tuple[float, ...] = ()  # of the training pixels in 0..1, one per channel; empty: use the samples as they are
    std: tuple[float, ...] = ()
    source: str = ""  # what was read: files, counts, 'full' or 'mini'
    sha256: str = ""  # of everything that was read, or of the drawn numbers

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one sample."""
        return tuple(self.train.x.shape[1:])


def get(name: str, *, data_dir: str | None = None, validation: int | None = None, seed: int = 0) -> Dataset:
    """The data set of that name, `NAME` or `NAME:ARGUMENT`, read or drawn."""
    member, _, argument = name.partition(":")
    if member == "." or ".py" in name:
        make, argument = plugins.function("datasets", name), ""
    else:
        make = plugins.function("datasets", member)
    options: dict[str, Any] = {"data_dir": data_dir, "validation": validation, "seed": seed}
    return make(argument, **options) if argument else make(**options)
