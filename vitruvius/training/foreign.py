"""Data that a finished run was not made for, brought into its form: size, channels, classes by name.

Shapes: B batch, C channels, H and W the image's sides.
"""

import re
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from vitruvius import datasets
from vitruvius.core import integrity
from vitruvius.core.counted import counted
from vitruvius.core.errors import UserError
from vitruvius.datasets import DataChoice, Dataset, Split
from vitruvius.training.batches import Batches
from vitruvius.training.predictor import Predictor
from vitruvius.training.randaugment import GREY

SIDED = re.compile(r"@\d+$")


class Foreign(NamedTuple):
    """Images with the labels of a run's classes."""

    name: str
    part: str
    images: Split
    notes: tuple[str, ...]
    sha256: str


def load(run: Path, model: Predictor, choice: DataChoice, part: str) -> Foreign:
    """Read data, chosen by `choice_for`, in the form that a run takes; refuse classes that it does not know.

    `part` auto is the test images of the data that the run was trained on, and all images of other data.
    """
    data = choice.load()
    manifest = integrity.read_manifest(run)
    trained_on = manifest.environment.get("data_sha256") if manifest else None
    is_own = bool(data.sha256) and trained_on == data.sha256
    if part == "auto":
        part = "test" if is_own and len(data.test) else "all"
    chosen = _part(data, part)
    if chosen.y is None or not len(chosen):
        raise UserError(f"{data.name}: there are no labelled images ({part}) to compare with")
    pixels = _pixels(chosen.x, model, data.name)
    labels, notes = _labels(chosen.y, data.classes, model.classes, data.name)
    if is_own and part in ("all", "train"):
        notes = (*notes, "The run was trained on some of these images: their accuracy is no test.")
    return Foreign(data.name, part, Split(pixels, labels), notes, data.sha256)


def batches(model: Predictor, images: Split) -> Batches:
    """Return the images normalised as the run does it."""
    return Batches(images.x, images.y, mean=model.mean, std=model.std)


def choice_for(run: Path, model: Predictor, choice: DataChoice) -> DataChoice:
    """Return the choice of data, own pictures with the side and fit of the run; by default its own data."""
    if not choice.data:
        return DataChoice.recorded(run / "config.json")
    fields = {key: getattr(choice, key) for key in DataChoice.model_fields}
    if datasets.own_pictures(choice.data):
        fields["fit"] = choice.fit if "fit" in choice.model_fields_set else model.fit
        if not SIDED.search(choice.data):
            fields["data"] = f"{choice.data}@{model.net.arch.image}"
    return DataChoice(**fields)


def _part(data: Dataset, part: str) -> Split:
    parts = {"train": data.train, "validation": data.validation, "test": data.test}
    chosen = [split for name, split in parts.items() if part in ("all", name) and len(split)]
    if not chosen:
        return Split(data.train.x[:0], data.train.y)
    labels = [split.y for split in chosen if split.y is not None]
    y = torch.cat(labels) if len(labels) == len(chosen) else None
    return Split(torch.cat([split.x for split in chosen]), y)


def _labels(
    y_B: Tensor, theirs: tuple[str, ...], ours: tuple[str, ...], name: str
) -> tuple[Tensor, tuple[str, ...]]:
    """Return the labels as indices of the run's classes, matched by name, and notes for the reader."""
    places = {label: place for place, label in enumerate(ours)}
    present = {theirs[label]: None for label in torch.unique(y_B).tolist()}
    strange = [label for label in present if label not in places]
    if strange:
        known = ", ".join(ours[:5]) + (", ..." if len(ours) > 5 else "")
        more = f" and {len(strange) - 1:,} more" if len(strange) > 1 else ""
        raise UserError(f"{name}: its class {strange[0]}{more} is none of the run, which knows {known}")
    index_of = torch.tensor([places.get(label, -1) for label in theirs])
    absent = [label for label in ours if label not in present]
    shown = f"No image is of {', '.join(absent[:5])}{' or others' if len(absent) > 5 else ''}."
    return index_of[y_B], (shown,) if absent else ()


def _pixels(x_BCHW: Tensor, model: Predictor, name: str) -> Tensor:
    """Return the images with the channels of the run; refuse another size."""
    arch = model.net.arch
    if x_BCHW.shape[2:] != (arch.image, arch.image):
        has, takes = " x ".join(map(str, x_BCHW.shape[1:])), f"{arch.channels} x {arch.image} x {arch.image}"
        raise UserError(f"{name}: images of {has}; the run takes {takes}")
    if x_BCHW.shape[1] == arch.channels:
        return x_BCHW
    if arch.channels == 3 and x_BCHW.shape[1] == 1:
        return x_BCHW.expand(-1, 3, -1, -1)
    if arch.channels == 1 and x_BCHW.shape[1] == 3:
        grey = (x_BCHW.float() * torch.tensor(GREY).view(3, 1, 1)).sum(1, keepdim=True)
        return grey.round().to(x_BCHW.dtype)
    has = counted(x_BCHW.shape[1], "channel")
    raise UserError(f"{name}: images of {has}; the run takes {arch.channels}")
