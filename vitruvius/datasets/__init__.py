"""Data sets: functions that return a `Dataset`. A member is one function, named like its file.

Laws, tested over the folder: shapes agree with `shape`, labels lie in range, the splits are disjoint, the
same seed gives the same data, and bytes read from disk are verified by checksum where one is known.

Every member takes `validation` (how many training samples are put aside; None = the member's default) and
`seed`, which divides or draws the samples (`--split-seed`). A name may carry an argument after a colon:
`folder:PATH`, `noise:3x32x32`, `cifar:100`. Members that read the user's own pictures (READS_PICTURES) also
take `fit`, `skip_bad` and `limit`, and have `decode`, which fills the cache and yields its progress.
"""

import inspect
import os
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field, model_validator

from vitruvius.core import files, plugins
from vitruvius.core.config import Part
from vitruvius.core.errors import UserError, VitruviusError, unknown
from vitruvius.core.records import Progress
from vitruvius.datasets._survey import PARTS as PARTS
from vitruvius.datasets._survey import Fit as Fit
from vitruvius.datasets._survey import PictureFiles
from vitruvius.datasets._survey import Survey as Survey

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor


@dataclass(frozen=True)
class Split:
    """Samples: pictures as uint8 (B, C, H, W), in memory or mapped from a file, or float32 of any shape."""

    x: "Tensor"
    y: "Tensor | None"  # int64 (B,)
    names: tuple[str, ...] = ()  # of the files of pictures, where there are some

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True)
class Dataset:
    """A data set with its three splits and its origin."""

    name: str  # 'mnist', 'fashion_mnist (mini)', ...: results print it
    train: Split
    validation: Split
    test: Split
    classes: tuple[str, ...]  # empty without labels
    mean: tuple[float, ...] = ()  # per channel, of the training pixels in 0..1; empty for floats, used as is
    std: tuple[float, ...] = ()
    source: str = ""  # what was read: files, counts, 'full' or 'mini'
    sha256: str = ""  # of everything that was read, or of the drawn numbers
    fit: Fit = "squash"  # how pictures of other shapes become squares, also when the network predicts
    files: PictureFiles | None = None  # what was found on disk, of the user's own pictures

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
        lists = {key: list(getattr(self, key)) for key in ("classes", "mean", "std")}
        return {"data": self.name} | lists | {"fit": self.fit}

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
    """A data set (see `vitruvius list datasets`), your own images (a folder: PATH or PATH@SIDE, csv:FILE,
    shards:PATTERN) or ./mine.py:name."""
    data_dir: str | None = None
    """Where to look for its files first."""
    validation: Annotated[int, Field(ge=0)] | None = None
    """Training samples put aside for validation; default: the data set's own."""

    split_seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Seed by which the samples are divided into training, validation and test, or drawn."""
    fit: Fit = "crop"
    """How your own images become squares: crop keeps the centre, pad adds black bars, squash stretches."""
    skip_bad: bool = False
    """Leave unreadable images out instead of stopping before the work begins."""

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
        """Older versions divided samples by the seed of the training and squashed pictures to 32 pixels."""
        older = {"split_seed": recorded.get("seed", 0), **super().read_older(recorded)}
        if "fit" in recorded or not str(recorded.get("data", "")).startswith("folder:"):
            return older
        has_side = re.search(r".@[0-9]+$", recorded["data"])
        return {**older, "fit": "squash", "data": recorded["data"] + ("" if has_side else "@32")}

    @classmethod
    def recorded(cls, path: Path) -> "DataChoice":
        """Return the data that a run's config.json names; what is no choice of data is refused."""
        fields = cls.read_older(files.read_object(path, follow=False))
        return files.typed(path, cls, {key: fields[key] for key in DataChoice.model_fields if key in fields})

    def load(self, limit: int | None = None) -> Dataset:
        """Read or draw the data set; of the user's own pictures at most `limit`, all of them for training."""
        return get(self.data, **self._options(), limit=limit)

    def decode(self) -> Iterator[Progress]:
        """Decode the user's own pictures into the cache, if they are many; `load` then finds them there."""
        if own_pictures(self.data):
            member, _, argument = self.data.partition(":")
            yield from plugins.module("datasets", member).decode(argument, **self._options())

    def _options(self) -> dict[str, Any]:
        fields = {"data_dir": self.data_dir, "validation": self.validation, "seed": self.split_seed}
        return {**fields, "fit": self.fit, "skip_bad": self.skip_bad}


def get(
    name: str,
    *,
    data_dir: str | None = None,
    validation: int | None = None,
    seed: int = 0,
    fit: Fit = "crop",
    skip_bad: bool = False,
    limit: int | None = None,
) -> Dataset:
    """Read or draw the data set `NAME` or `NAME:ARGUMENT`, or the user's own, `./mine.py:NAME`.

    `fit`, `skip_bad` and `limit` are for members that read the user's own pictures.
    """
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
    options: dict[str, Any] = {"data_dir": data_dir, "validation": validation, "seed": seed}
    if own_pictures(name):
        options |= {"fit": fit, "skip_bad": skip_bad, "limit": limit}
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
    folders = (os.path.join(os.path.expanduser(data_dir or ""), os.path.expanduser(path)) for path in paths)
    is_dir = bool(name) and any(map(os.path.isdir, folders))
    return is_dir and name.partition(":")[0] not in plugins.members("datasets")


def own_pictures(name: str) -> bool:
    """Whether a name is that of a member that reads the user's own pictures, as `folder:PATH`."""
    member = plugins.members("datasets").get(name.partition(":")[0])
    return member is not None and bool(plugins.constant(member.path, "READS_PICTURES"))


def survey(data: Dataset) -> Survey:
    """Return what a data set holds, in one table."""
    counts = {}
    for part in PARTS:
        split: Split = getattr(data, part)
        found = [len(split)]
        if split.y is not None and data.classes:
            found = split.y.bincount(minlength=len(data.classes)).tolist()
        counts[part] = tuple(found)
    return Survey(name=data.name, classes=data.classes, counts=counts, shape=data.shape, files=data.files)


def read_image(path: Path, side: int, fit: Fit = "squash") -> "NDArray[np.uint8]":
    """Read a picture file as bytes (1, side, side) if it is greyscale, else (3, side, side)."""
    from vitruvius.datasets import _images

    return _images.decode(_images.read(path), side, fit).pixels


def stratified_order(labels: Sequence[Hashable], seed: int) -> list[int]:
    """Return all indices in a random order whose every prefix holds the classes in proportion.

    In random order, the i-th of the n samples of a class gets the key (i + 1/2) / n; the keys are sorted.

    >>> order = stratified_order([0] * 90 + [1] * 10, seed=0)
    >>> sum(position >= 90 for position in order[:20])
    2
    """
    import numpy as np

    seen: Counter[Hashable] = Counter()
    sizes, key = Counter(labels), {}
    for position in np.random.default_rng(seed).permutation(len(labels)).tolist():
        label = labels[position]
        key[position] = (seen[label] + 0.5) / sizes[label]
        seen[label] += 1
    return sorted(key, key=key.__getitem__)  # equal keys stay in random order, so no class is favoured


def _usage(member: str, make: Callable[..., Dataset]) -> str:
    """Return how a member is written: `mnist`, `cifar or cifar:CLASSES`, `folder:PATH`."""
    for parameter in inspect.signature(make).parameters.values():
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            text = f"{member}:{parameter.name.upper()}"
            return text if parameter.default is parameter.empty else f"{member} or {text}"
    return member
