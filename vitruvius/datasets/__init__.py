"""Data sets: functions that return a `Dataset`. A member is one function, named like its file.

Laws, tested over the folder: shapes agree with `shape`, labels lie in range, the splits are disjoint, the
same seed gives the same data, and bytes read from disk are verified by checksum where one is known.

Every member takes `validation` (how many training samples are put aside; None = the member's default) and
`seed`, which divides or draws the samples (`--split-seed`). A name may carry an argument after a colon:
`folder:PATH`, `noise:3x32x32`, `cifar:100`.
"""

import inspect
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field, model_validator

from vitruvius.core import plugins
from vitruvius.core.config import Part
from vitruvius.core.errors import UserError, VitruviusError, unknown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor


@dataclass(frozen=True)
class Split:
    """Samples in memory: pictures as uint8 (B, C, H, W), or float32 of any shape; with or without labels."""

    x: "Tensor"
    y: "Tensor | None"  # int64 (B,)

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True)
class Dataset:
    """A data set in memory with its three splits and its origin."""

    name: str  # 'mnist', 'fashion_mnist (mini)', ...: results print it
    train: Split
    validation: Split
    test: Split
    classes: tuple[str, ...]  # empty without labels
    mean: tuple[float, ...] = ()  # per channel, of the training pixels in 0..1; empty for floats, used as is
    std: tuple[float, ...] = ()
    source: str = ""  # what was read: files, counts, 'full' or 'mini'
    sha256: str = ""  # of everything that was read, or of the drawn numbers

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of one sample."""
        return tuple(self.train.x.shape[1:])

    @property
    def images(self) -> int:
        """Return the number of training samples."""
        return len(self.train)

    @property
    def counts(self) -> str:
        """Return the sizes of the splits in words; the noun (images, samples) is left to the caller."""
        train, validation, test = len(self.train), len(self.validation), len(self.test)
        return f"{train:,} training, {validation:,} validation, {test:,} test"

    @property
    def labels(self) -> dict[str, Any]:
        """Return what a prediction needs besides the weights: class names and normalisation."""
        return {"data": self.name} | {key: list(getattr(self, key)) for key in ("classes", "mean", "std")}

    def class_counts(self) -> dict[str, int]:
        """Return the number of training samples of each class; empty without labels."""
        if self.train.y is None or not self.classes:
            return {}
        counts = self.train.y.bincount(minlength=len(self.classes)).tolist()
        return dict(zip(self.classes, counts, strict=True))


class DataChoice(Part):
    """Which data a verb reads."""

    group: ClassVar[str] = "data"
    data: str = "mnist"
    """A data set (see `vitruvius list datasets`), a folder of images (PATH, PATH@SIDE) or ./mine.py:name."""
    data_dir: str | None = None
    """Where to look for its files first."""
    validation: Annotated[int, Field(ge=0)] | None = None
    """Training samples put aside for validation; default: the data set's own."""

    split_seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Seed by which the samples are divided into training, validation and test, or drawn."""

    @model_validator(mode="before")
    @classmethod
    def _path_is_folder(cls, given: Any) -> Any:
        """Read the path of an existing folder as `folder:PATH`; the names of data sets come first."""
        if not isinstance(given, dict) or not isinstance(given.get("data"), str):
            return given
        if not is_folder(given["data"], given.get("data_dir")):
            return given
        return {**given, "data": f"folder:{given['data']}"}

    @classmethod
    def read_older(cls, recorded: Mapping[str, Any]) -> dict[str, Any]:
        """Older versions divided the samples by the seed of the training."""
        return {"split_seed": recorded.get("seed", 0), **super().read_older(recorded)}

    def load(self) -> Dataset:
        """Read or draw the data set."""
        return get(self.data, data_dir=self.data_dir, validation=self.validation, seed=self.split_seed)


def get(name: str, *, data_dir: str | None = None, validation: int | None = None, seed: int = 0) -> Dataset:
    """Read or draw the data set `NAME` or `NAME:ARGUMENT`, or the user's own, `./mine.py:NAME`."""
    if seed < 0:
        raise UserError(f"seed {seed}: choose 0 or more")
    member, _, argument = name.partition(":")
    is_own = member.endswith(".py")
    if not is_own and is_folder(name, data_dir):
        raise UserError(f"no dataset '{name}': a folder of that name is here: folder:{name}")
    if not is_own and member not in (known := plugins.members("datasets")):
        raise unknown(
            "dataset", member, known, "or a file: ./mine.py:name, or a folder of images by its path"
        )
    make = plugins.function("datasets", name if is_own else member)
    given = (argument,) if argument and not is_own else ()
    options = {"data_dir": data_dir, "validation": validation, "seed": seed}
    try:
        inspect.signature(make).bind(*given, **options)
    except TypeError as error:
        raise UserError(f"dataset '{name}': {error}; it is written {_usage(member, make)}") from None
    if not is_own:
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


def is_folder(name: str, data_dir: str | None = None) -> bool:
    """Whether a name is that of no data set but of a folder here (or in `data_dir`): PATH or PATH@SIDE."""
    path, _, side = name.rpartition("@")
    paths = [name, path] if path and side.isdecimal() else [name]
    places = (os.path.join(os.path.expanduser(data_dir or ""), os.path.expanduser(path)) for path in paths)
    is_dir = bool(name) and any(map(os.path.isdir, places))
    return is_dir and name.partition(":")[0] not in plugins.members("datasets")


def read_image(path: Path, side: int) -> "NDArray[np.uint8]":
    """Read a PNG or JPEG file as bytes (1, side, side) if it is greyscale, else (3, side, side)."""
    from vitruvius.datasets import _images

    return _images.decode(_images.read(path), side)


def stratified_order(labels: Sequence[Hashable], seed: int) -> list[int]:
    """Return all indices in a random order whose every prefix holds the classes in proportion."""
    from vitruvius.datasets import _order

    return _order.stratified_order(labels, seed)


def _usage(member: str, make: Callable[..., Dataset]) -> str:
    """Return how a member is written: `mnist`, `cifar or cifar:CLASSES`, `folder:PATH`."""
    for parameter in inspect.signature(make).parameters.values():
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            text = f"{member}:{parameter.name.upper()}"
            return text if parameter.default is parameter.empty else f"{member} or {text}"
    return member
