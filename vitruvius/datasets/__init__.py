"""Data sets: functions that return a `Dataset`. A member is one function, named like its file.

Laws, tested over the folder: shapes agree with `shape`, labels lie in range, the splits are disjoint, the same seed
gives the same data, and bytes read from disk are verified by checksum where one is known.

Every member takes `validation` (how many training samples are put aside; None = the member's default) and `seed`.
A name may carry an argument after a colon: `folder:PATH`, `noise:3x32x32`, `cifar:100`.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from vitruvius.core import plugins
from vitruvius.core.config import Part
from vitruvius.core.errors import UserError, VitruviusError

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Split:
    """Samples in memory: pictures as uint8 (B, C, H, W), or float32 of any shape; with labels if there are any."""

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
    mean: tuple[
        float, ...
    ] = ()  # of the training pixels in 0..1, one per channel; empty for float32, used as it is
    std: tuple[float, ...] = ()
    source: str = ""  # what was read: files, counts, 'full' or 'mini'
    sha256: str = ""  # of everything that was read, or of the drawn numbers

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one sample."""
        return tuple(self.train.x.shape[1:])

    def class_counts(self) -> dict[str, int]:
        """How many training samples each class has; empty without labels."""
        if self.train.y is None:
            return {}
        return dict(
            zip(self.classes, self.train.y.bincount(minlength=len(self.classes)).tolist(), strict=True)
        )


class DataChoice(Part):
    """Which data a verb reads."""

    group: ClassVar[str] = "data"
    data: str = "mnist"
    """A data set: mnist, fashion_mnist, cifar, folder:PATH, ... (see `vitruvius list datasets`) or ./mine.py:name."""
    data_dir: str | None = None
    """Where to look for its files first."""
    validation: Annotated[int, Field(ge=0)] | None = None
    """Training samples put aside for validation; default: the data set's own."""

    def load(self, seed: int = 0) -> Dataset:
        """Read or draw the data set."""
        return get(self.data, data_dir=self.data_dir, validation=self.validation, seed=seed)


def get(name: str, *, data_dir: str | None = None, validation: int | None = None, seed: int = 0) -> Dataset:
    """The data set of that name, `NAME` or `NAME:ARGUMENT`, read or drawn; or the user's own, `./mine.py:NAME`."""
    if seed < 0:
        raise UserError(f"seed {seed}: choose 0 or more")
    member, _, argument = name.partition(":")
    if member.endswith(".py"):
        make, argument = plugins.function("datasets", name), ""
    else:
        make = plugins.function("datasets", member)
    given = (argument,) if argument else ()
    options = {"data_dir": data_dir, "validation": validation, "seed": seed}
    try:
        inspect.signature(make).bind(*given, **options)
    except TypeError as error:
        raise UserError(f"dataset '{name}': {error}; it is written {_usage(member, make)}") from None
    if not member.endswith(".py"):
        return make(*given, **options)
    try:
        made = make(**options)
    except VitruviusError:
        raise
    except Exception as error:
        raise UserError(f"dataset '{name}': {type(error).__name__}: {error}") from error
    if not isinstance(made, Dataset):
        raise UserError(f"dataset '{name}': it returns {type(made).__name__}, not a Dataset")
    return made


def _usage(member: str, make: Callable[..., Dataset]) -> str:
    """How a member is asked for: `mnist`, `cifar or cifar:CLASSES`, `folder:PATH`."""
    for parameter in inspect.signature(make).parameters.values():
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            text = f"{member}:{parameter.name.upper()}"
            return text if parameter.default is parameter.empty else f"{member} or {text}"
    return member
