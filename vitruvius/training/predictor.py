"""A finished run as a model that classifies pictures and shows which patches it attends to.

Shapes: C channels, H and W the image's sides, L layers, K classes.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import torch
from pydantic import ConfigDict, model_validator
from torch import Tensor

from vitruvius import datasets
from vitruvius.arch.arch import Arch
from vitruvius.core import files, runs
from vitruvius.core.config import Strict
from vitruvius.core.counted import counted
from vitruvius.core.errors import UserError
from vitruvius.nn import attention_maps, layouts
from vitruvius.nn.vit import ViT
from vitruvius.training import memory, seeds, side_by_side

BATCH = 500  # most images that are computed at once
DISTANCE_IMAGES = 64  # images on which attention distances are measured, of noise if none are given
Guesses = list[tuple[str, float]]  # classes with their probabilities


class Predictor(NamedTuple):
    """A network with its best weights, its class names and its normalisation."""

    net: ViT
    classes: tuple[str, ...]
    mean: Tensor  # (C, 1, 1) of the training pixels in 0..1
    std: Tensor
    fit: datasets.Fit = "squash"  # how pictures become squares


class SavedViT(Strict):
    """The model.json of a run that trained a ViT."""

    model_config = ConfigDict(extra="ignore")
    arch: Arch
    classes: tuple[str, ...] = ()
    mean: tuple[float, ...]
    std: tuple[float, ...]
    fit: datasets.Fit = "squash"

    @model_validator(mode="after")
    def _one_scale_per_channel(self) -> Self:
        for name, values in (("mean", self.mean), ("std", self.std)):
            if len(values) not in (0, 1, self.arch.channels):
                has, channels = counted(len(values), "number"), counted(self.arch.channels, "channel")
                raise ValueError(f"{name} has {has} for {channels}")
        return self


def load(folder: Path) -> Predictor:
    """Load the model of a training run; its weights are verified by checksum."""
    about = files.read_as(runs.verify(folder, "model.json"), SavedViT)
    net = ViT(about.arch)
    path = runs.verify(folder, "model.safetensors")
    layouts.fill(net, layouts.read(path), str(path))
    return Predictor(net.eval(), about.classes, *scale_tensors(about.mean, about.std), about.fit)


def scale_tensors(mean: Sequence[float], std: Sequence[float]) -> tuple[Tensor, Tensor]:
    """Return mean and standard deviation as (C, 1, 1); 0 and 1 where images are not normalised."""
    return torch.tensor(mean or [0.0]).view(-1, 1, 1), torch.tensor(std or [1.0]).view(-1, 1, 1)


def read_picture(name: str, model: Predictor) -> Tensor:
    """Read a picture file as (C, H, W) in 0..1, with the size and channels of the network."""
    arch = model.net.arch
    try:
        pixels_CHW = torch.from_numpy(datasets.read_image(Path(name), arch.image, model.fit).copy()) / 255
    except UserError as error:
        raise UserError(f"{name}: {error}") from error
    if len(pixels_CHW) == arch.channels:
        return pixels_CHW
    if arch.channels == 1:
        return (pixels_CHW * torch.tensor([0.299, 0.587, 0.114]).view(3, 1, 1)).sum(0, keepdim=True)
    if arch.channels == 3:
        return pixels_CHW.expand(3, -1, -1)
    raise UserError(f"{name}: has {counted(len(pixels_CHW), 'channel')}, the network takes {arch.channels}")


def classify(model: Predictor, images: Sequence[Tensor], top: int) -> Iterator[Guesses]:
    """Yield the most probable classes of each image (C, H, W), computed in batches."""

    def guesses(sample_B: Tensor) -> list[Guesses]:
        x = _normalised(model, torch.stack([images[index] for index in sample_B.tolist()]))
        probability_BK = model.net(x).softmax(-1)[:, : len(model.classes)]
        best = probability_BK.topk(min(top, len(model.classes)))
        return [
            [(model.classes[index], chance) for chance, index in zip(chances, indices, strict=True)]
            for chances, indices in zip(best.values.tolist(), best.indices.tolist(), strict=True)
        ]

    where, every_n = model.mean.device, torch.arange(len(images))
    size = memory.evaluation_batch(model.net.arch, where, BATCH)
    for found in side_by_side.evaluated(guesses, every_n, size, where):
        yield from found


def heat_maps(model: Predictor, pixels_CHW: Tensor) -> list[tuple[str, Tensor]]:
    """Return where the model looks in an image: attention rollout, and each layer's mean over its heads."""
    weights = attention_maps.attention(model.net, _normalised(model, pixels_CHW[None]))
    maps = {"rollout": attention_maps.rollout(weights)}
    maps |= {f"layer {number}": weight.mean(1) for number, weight in enumerate(weights, 1)}
    return [(name, attention_maps.saliency(model.net, found)[0]) for name, found in maps.items()]


def distances(model: Predictor, images: list[Tensor]) -> Tensor:
    """Return the mean attention distance (L, heads) over the first images, or over noise without any."""
    arch = model.net.arch
    if images:
        x = _normalised(model, torch.stack(images[:DISTANCE_IMAGES]))
    else:
        shape = (DISTANCE_IMAGES, arch.channels, arch.image, arch.image)
        x = torch.randn(shape, generator=seeds.generator(0, "distance"))
    return attention_maps.distances(model.net, attention_maps.attention(model.net, x))


def _normalised(model: Predictor, pixels_BCHW: Tensor) -> Tensor:
    return (pixels_BCHW - model.mean) / model.std
