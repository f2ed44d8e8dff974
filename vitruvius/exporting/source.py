"""A finished run as the source of an export: its verified files, its model and its data."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from vitruvius.arch.arch import Arch
from vitruvius.core import files, integrity, runs
from vitruvius.core.errors import UserError
from vitruvius.core.integrity import Manifest
from vitruvius.datasets import DataChoice, Dataset
from vitruvius.nn.vit import ViT
from vitruvius.training import predictor
from vitruvius.training.batches import Batches, batches_of

CALIBRATION_IMAGES = 256
"""Training images by which the ranges of int8 are chosen."""


@dataclass(frozen=True)
class Source:
    """A trained network with everything that another program needs to use it."""

    folder: Path
    net: ViT
    classes: tuple[str, ...]
    """One name per output; outputs that no class of the data uses are called LABEL_i."""
    mean: tuple[float, ...]
    """Of the training pixels in 0..1, one per channel."""
    std: tuple[float, ...]
    data: Dataset
    notes: tuple[str, ...]

    @property
    def scale(self) -> str:
        """How pixels become numbers before they are normalised."""
        return "pixels 0..255 divided by 255" if self.data.mean else "numbers as they are"

    def evaluation(self) -> tuple[str, Batches]:
        """Return the test images, or others where there are none, and what they are."""
        splits = {"test": self.data.test, "validation": self.data.validation, "training": self.data.train}
        name = next(name for name, split in splits.items() if len(split))
        return name, batches_of(self.data, splits[name])

    def calibration(self) -> Tensor:
        """Return normalised training images."""
        chosen = batches_of(self.data, self.data.train)
        return chosen.batch(chosen.order(0)[:CALIBRATION_IMAGES]).x

    def preprocessing(self) -> dict[str, Any]:
        """Return how an image becomes the network's input."""
        arch = self.net.arch
        return {
            "size": [arch.channels, arch.image, arch.image],
            "fit": self.data.fit,
            "scale": self.scale,
            "mean": list(self.mean),
            "std": list(self.std),
        }


def arch_of(folder: Path) -> Arch:
    """Return the network of a run; refuse a run of something else than a classifier."""
    about = files.read_json(runs.verify(folder, "model.json"))
    if not isinstance(about, dict) or not about.get("classes") or "arch" not in about:
        raise UserError(f"{folder}: holds no classifier; export takes a run of `vitruvius train`")
    return Arch(**about["arch"])


def load(folder: Path) -> Source:
    """Load a run whose every file has the SHA-256 of its manifest, and its data."""
    for name in ("model.json", "model.safetensors", "manifest.json"):
        runs.verify(folder, name)
    manifest = integrity.read_manifest(folder) or Manifest()
    for name in manifest.files:
        runs.verify(folder, name)
    model = predictor.load(folder)
    arch = model.net.arch
    data = DataChoice.recorded(folder / "config.json").load()
    if data.shape != (arch.channels, arch.image, arch.image):
        raise UserError(f"{folder}: the data {data.name} have samples of shape {data.shape} now")
    recorded = manifest.environment.get("data_sha256", data.sha256)
    notes = () if recorded == data.sha256 else (f"the data {data.name} have changed since the training",)
    unnamed = tuple(f"LABEL_{index}" for index in range(len(model.classes), arch.classes))
    mean, std = (
        tuple(value.expand(arch.channels, 1, 1).flatten().tolist()) for value in (model.mean, model.std)
    )
    if data.mean:  # a run that started from a checkpoint normalises as that one does
        data = replace(data, mean=mean, std=std)
    return Source(folder, model.net, (*model.classes, *unnamed), mean, std, data, notes)
