"""The features that a probe reads: raw samples, PCA, encoders of a run, or untrained encoders."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from torch import Tensor

from vitruvius.arch.choice import ArchChoice
from vitruvius.core import files, runs
from vitruvius.core.errors import UserError
from vitruvius.datasets import Dataset
from vitruvius.nn import autoencoder, layouts, vit
from vitruvius.pretraining import autoencoders, pca
from vitruvius.pretraining.probe import Encode, batches
from vitruvius.pretraining.results import SavedGrid
from vitruvius.training.batches import Batches
from vitruvius.training.predictor import SavedViT, scale_tensors

DENSE = re.compile(r"(linear|mlp)((?:-[1-9]\d{0,5})+)")
"""An untrained fully connected encoder by its widths: mlp-256-64."""


class Source(NamedTuple):
    """Features by name; `encode` takes samples as they are, pixels in 0..1."""

    name: str
    size: int
    encode: Encode


def sources(asked: str, data: Dataset, seed: int, folder: Path | None) -> Iterator[Source]:
    """Yield raw samples, PCA of the sizes asked for, and the encoders asked for, each also untrained."""
    features = data.train.x[0].numel()
    found = list(_asked(asked, data, seed, folder))
    yield Source("raw", features, lambda x: x.flatten(1))
    if asked != "raw" and not pca.too_large(data.train.x):
        principal = pca.fit(batches(Batches(data.train.x, None)))
        known = min(features, len(principal.values_R))
        for size in dict.fromkeys(min(source.size, known) for source in found):
            yield Source(f"pca:{size}", size, partial(principal.project, count=size))
    if asked != "raw" and not asked.startswith("pca:"):
        yield from found


def _asked(asked: str, data: Dataset, seed: int, folder: Path | None) -> Iterator[Source]:
    features = data.train.x[0].numel()
    kind, _, argument = asked.partition(":")
    if folder is not None:
        yield from of_run(folder, data)
    elif kind == "untrained":
        yield _untrained(argument, data, seed)
    elif kind == "pca":
        if not argument.isdecimal() or not 1 <= int(argument) <= features:
            raise UserError(f"'{asked}': write pca:K with K from 1 to the {features:,} entries of a sample")
        if pca.too_large(data.train.x):
            raise UserError(f"'{asked}': {pca.too_large(data.train.x)}")
        yield Source(asked, int(argument), lambda x: x)


def of_run(folder: Path, data: Dataset) -> Iterator[Source]:
    """Yield the encoders of a run, and one untrained encoder of each size."""
    described = runs.verify(folder, "model.json")
    about = files.read_object(described, follow=False)
    path = runs.verify(folder, "model.safetensors")
    tensors = layouts.read(path)
    if "cells" not in about:
        yield from _of_vit(folder, files.typed(described, SavedViT, about), tensors, data)
        return
    grid, features = files.typed(described, SavedGrid, about), data.train.x[0].numel()
    if grid.features != features:
        has = f"a sample of {data.name} has {features:,}"
        raise UserError(f"{folder}: its encoders read {grid.features:,} entries, {has}")
    before: dict[int, autoencoder.Autoencoder] = {}
    for name, (trained, untrained) in autoencoders.read(grid, tensors, path).items():
        yield Source(name, trained.sizes[-1], trained.encode)
        before.setdefault(untrained.sizes[-1], untrained)
    for size, untrained in before.items():
        yield Source(f"untrained.{size}", size, untrained.encode)


def _of_vit(folder: Path, about: SavedViT, tensors: dict[str, Tensor], data: Dataset) -> Iterator[Source]:
    """Yield the ViT of a run and the same ViT untrained."""
    arch, seed = about.arch, recorded_seed(folder)
    if (arch.channels, arch.image, arch.image) != data.shape:
        takes = f"{arch.channels}x{arch.image}x{arch.image} images"
        raise UserError(f"{folder}: the network takes {takes}, not {data.shape}")
    trained, untrained = vit.build(arch, seed).eval(), vit.build(arch, seed).eval()
    layouts.fill(trained, tensors, str(folder), except_head=True)
    for name, net in ((folder.name, trained), ("untrained", untrained)):
        yield Source(name, arch.width, _normalising(net, about.mean, about.std))


def recorded_seed(folder: Path) -> int:
    """Return the seed that a run's config.json names."""
    path = runs.verify(folder, "config.json")
    seed = files.read_object(path, follow=False).get("seed")
    if type(seed) is not int:
        raise UserError(f"{path}: seed needs a whole number, got {seed!r}")
    return seed


def _untrained(name: str, data: Dataset, seed: int) -> Source:
    match, features = DENSE.fullmatch(name), data.train.x[0].numel()
    if match:
        widths = [int(width) for width in match[2][1:].split("-")]
        activation = "identity" if match[1] == "linear" else "relu"
        autoencoder.refuse_if_too_big([(features, *widths)], 1)
        model = autoencoder.build(features, widths, activation, seed).eval()
        return Source(f"untrained:{name}", widths[-1], model.encode)
    if len(data.shape) != 3 or data.shape[1] != data.shape[2]:
        why = f"{data.name} has no square images; write untrained:mlp-256-64, for instance"
        raise UserError(f"untrained:{name}: {why}")
    arch = ArchChoice(arch=name).resolve(data, labelled=False)
    encode = _normalising(vit.build(arch, seed).eval(), data.mean, data.std)
    return Source(f"untrained:{name}", arch.width, encode)


def _normalising(net: vit.ViT, *scale: Sequence[float]) -> Encode:
    """Return the function from images in 0..1 to what the head of a ViT reads; `scale`: mean and std."""
    mean, std = scale_tensors(*scale)
    return lambda x: net.features((x - mean) / std)
