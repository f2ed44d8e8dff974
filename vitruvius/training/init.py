"""Start from the weights of a run or a file (`--init`): what fits, what is replaced, what they have seen.

Shapes that agree do not make two networks the same: the query, key and value weights of 4 heads and of 8 have
equal shapes. A run records its network, which is compared; a bare file of weights names none.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from vitruvius.arch import public_configs
from vitruvius.arch.arch import Arch
from vitruvius.core import files, integrity, runs
from vitruvius.core.counted import counted
from vitruvius.core.errors import UserError
from vitruvius.core.records import Note
from vitruvius.datasets import DataChoice, Dataset
from vitruvius.nn import layouts
from vitruvius.nn.vit import ViT
from vitruvius.training.recipe import ClassifierSettings

SAME = ("patch", "stem", "channels", "layers")
"""Weights of a network that differs in these compute something else, also where all shapes agree."""
TOLD = ("activation", "kernel", "norm_eps", "pooling", "final_norm", "positions")
"""Fields without weights: another choice may be wanted, and is told."""


class Origin(NamedTuple):
    """The weights that a training starts from, and what is known about them."""

    name: str
    weights: dict[str, Tensor]
    arch: Arch | None  # None: a file that does not say
    classes: tuple[str, ...]  # empty if not known
    run: Path | None


def read(source: str) -> Origin:
    """Read the weights of a run, verified by checksum, or of a .safetensors file."""
    path = _weight_file(source)
    about = _saved(path)
    arch = Arch(**about["arch"]) if "arch" in about else None
    if (folder := public_configs.find(source)) is not None:
        arch = Arch(**public_configs.read(folder).fields)
    return Origin(str(path), layouts.read(path), arch, tuple(about.get("classes", ())), _run(source))


def fill(net: ViT, origin: Origin) -> None:
    """Give a network these weights; its head stays if theirs has another shape. Refuse another network."""
    for field in SAME if origin.arch else ():
        theirs, ours = getattr(origin.arch, field), getattr(net.arch, field)
        if theirs != ours:
            raise UserError(f"--init {origin.name}: {_difference(field, theirs, ours)}")
    found = layouts.adapt(origin.weights, net.arch)
    layouts.fill(net, found.weights, origin.name, except_head=not found.has_head)


def refuse_misfit(source: str, arch: Arch) -> None:
    """Refuse weights that a network cannot take; only its shapes are built."""
    with torch.device("meta"):
        net = ViT(arch)
    fill(net, read(source))


def notes(settings: ClassifierSettings, data: Dataset, arch: Arch) -> Iterator[Note]:
    """Say what happened to the head, which fields differ, and which test images the weights have seen."""
    if settings.init is None:
        return
    origin = read(settings.init)
    head = origin.weights.get("head.weight", origin.weights.get("classifier.weight"))
    if head is None:
        yield Note(text=f"--init {origin.name}: it has no head: that of this network starts untrained")
    elif head.shape != (arch.classes, arch.width):
        counts = f"it tells {counted(len(head), 'class')} apart, this network {arch.classes:,}"
        yield Note(text=f"--init {origin.name}: its head is replaced by an untrained one: {counts}")
    elif origin.classes and origin.classes != data.classes:
        named = f"{_some(origin.classes)}, not for {_some(data.classes)}"
        yield Note(text=f"--init {origin.name}: its head is kept, but was trained for {named}", warning=True)
    for text in layouts.adapt(origin.weights, arch).notes:
        yield Note(text=f"--init {origin.name}: {text}")
    if data.mean and _has_other_pixels(settings.init, data):
        text = "mean and standard deviation of the pixels are those of the checkpoint"
        yield Note(text=f"--init {origin.name}: {text}")
    for field in TOLD if origin.arch else ():
        theirs, ours = getattr(origin.arch, field), getattr(arch, field)
        if theirs != ours:
            yield Note(
                text=f"--init {origin.name}: its {field} was {theirs}, here it is {ours}", warning=True
            )
    yield from _seen_test_images(origin.run, settings, data)


def normalised_like(data: Dataset, source: str) -> Dataset:
    """Return the data with the mean and the standard deviation that a checkpoint's folder names, if any."""
    mean, std = normalisation(source) if data.mean else ((), ())
    if not mean:
        return data
    if len(mean) != len(data.mean):
        takes = counted(len(mean), "channel")
        raise UserError(f"--init {source}: it takes {takes}, {data.name} has {len(data.mean)}")
    return replace(data, mean=mean, std=std)


def normalisation(source: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return mean and standard deviation of the pixels of a run or folder; empty if it does not say."""
    folder = public_configs.find(source)
    if folder is not None:
        return public_configs.read(folder)[-2:]
    about = _saved(_weight_file(source))
    return tuple(about.get("mean", ())), tuple(about.get("std", ()))


def _has_other_pixels(source: str, data: Dataset) -> bool:
    """Whether a checkpoint brings a normalisation of its own: that of other data, or of another library."""
    if public_configs.find(source) is not None:
        return bool(normalisation(source)[0])
    return _saved(_weight_file(source)).get("data", data.name) != data.name


def _saved(weights: Path) -> dict[str, Any]:
    """Return what the model.json beside the weights of a run says; empty if there is none."""
    if weights.name != "model.safetensors" or not (weights.parent / "model.json").is_file():
        return {}
    return files.read_object(runs.verify(weights.parent, "model.json"))


def _weight_file(source: str) -> Path:
    """Return the weights of a run, a .safetensors file, or a folder of transformers, timm or our own."""
    path = Path(source)
    if path.suffix == ".safetensors":
        return path
    if path.is_file():
        why = "other files than .safetensors can hold code that would run, and are not read"
        raise UserError(f"--init {source}: {why}")
    folder = path if path.is_dir() else runs.find(source, ("train", "pretrain", "*"))
    return runs.verify(folder, "model.safetensors")


def _seen_test_images(run: Path | None, settings: ClassifierSettings, data: Dataset) -> Iterator[Note]:
    """Warn if test images were training images of a run, or of one that it started from itself."""
    tests = {_digest(image) for image in data.test.x} if run else set()
    visited: set[Path] = set()
    while run is not None and run.resolve() not in visited:
        visited.add(run.resolve())
        trained = _training_images(run, settings, data)
        if count := len(tests & trained):
            why = "the accuracy on them is no test: give both runs the same --split-seed"
            seen = f"{count:,} of the {len(data.test):,} test images were training images of {run}"
            yield Note(text=f"{seen}; {why}", warning=True)
        init = files.read_object(run / "config.json", follow=False).get("init")
        run = _run(init if isinstance(init, str) else None)


def _run(source: str | None) -> Path | None:
    """Return the folder of the run whose weights these are; None if it is not there or was none."""
    if source is None or source.endswith(".safetensors"):
        folder = Path(source or "").parent
        return folder if source and (folder / "config.json").is_file() else None
    try:
        return runs.find(source, ("train", "pretrain", "*"))
    except UserError:
        return None


def _training_images(run: Path, settings: ClassifierSettings, data: Dataset) -> set[bytes]:
    """Return what identifies the images a run was trained on, if they come from the files of these data.

    The same files (their SHA-256 is the same) are divided again as that run did. The same division leaves the
    test images out by itself.
    """
    manifest = integrity.read_manifest(run) or integrity.Manifest()
    recorded = DataChoice.recorded(run / "config.json")
    split = {"split_seed": recorded.split_seed, "validation": recorded.validation}
    is_ours = all(getattr(settings, field) == value for field, value in split.items())
    if not data.sha256 or manifest.environment.get("data_sha256") != data.sha256 or is_ours:
        return set()
    same = {"data_dir": settings.data_dir, "fit": settings.fit, "skip_bad": settings.skip_bad}
    theirs = DataChoice(data=settings.data, **same, **split).load()
    if torch.equal(theirs.test.x, data.test.x):
        return set()
    return {_digest(image) for image in theirs.train.x}


def _digest(image: Tensor) -> bytes:
    return hashlib.sha256(image.contiguous().numpy().tobytes()).digest()


def _difference(field: str, theirs: Any, ours: Any) -> str:
    """Say in which field, and for layers in which part of the first unequal one, two networks differ."""
    if field == "layers" and len(theirs) == len(ours):
        pairs = zip(theirs, ours, strict=True)
        index, (there, here) = next((i, pair) for i, pair in enumerate(pairs, 1) if pair[0] != pair[1])
        part = next(name for name in there._fields if getattr(there, name) != getattr(here, name))
        theirs, ours, field = getattr(there, part), getattr(here, part), f"{part} (layer {index})"
    elif field == "layers":
        theirs, ours, field = len(theirs), len(ours), "depth"
    elif field == "stem":
        theirs, ours = (",".join(map(str, stem)) or "[]" for stem in (theirs, ours))
    name = field.partition(" ")[0]
    cure = f"--set {name}={theirs}" if field != "channels" else "images with as many channels"
    return f"its network has {field} {theirs}, this one {ours}; {cure} would fit"


def _some(classes: tuple[str, ...]) -> str:
    return ", ".join(classes[:3]) + (", ..." if len(classes) > 3 else "")
