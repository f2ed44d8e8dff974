"""Where a probe's features come from: raw samples, PCA, a run, or an encoder that was never trained."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from vitruvius.arch import tables
from vitruvius.arch.arch import Arch
from vitruvius.core import files, runs
from vitruvius.core.errors import UserError
from vitruvius.datasets import Dataset
from vitruvius.nn import autoencoder, layouts, vit
from vitruvius.pretraining import autoencoders, pca
from vitruvius.pretraining.probe import Encode, batches
from vitruvius.training.batches import Batches

DENSE = re.compile(r"(linear|mlp)((?:-[1-9]\d{0,5})+)")
"""An untrained fully connected encoder by its widths: mlp-256-64."""


class Source(NamedTuple):
    """Features by name; `encode` takes samples as they are, pixels in 0..1."""

    name: str
    size: int
    encode: Encode


def sources(asked: str, data: Dataset, seed: int, folder: str) -> Iterator[Source]:
    """What was asked for, and always beside it raw samples, PCA of the same sizes and the same encoders untrained."""
    features = data.train.x[0].numel()
    found = list(_asked(asked, data, seed, folder))
    sizes = dict.fromkeys(min(source.size, features) for source in found)
    yield Source("raw", features, lambda x: x.flatten(1))
    if asked != "raw" and not pca.too_large(data.train.x):
        principal = pca.fit(batches(Batches(data.train.x, None)))
        known = len(principal.values_R)
        yield from (pca_source(principal, size) for size in dict.fromkeys(min(size, known) for size in sizes))
    if asked != "raw" and not asked.startswith("pca:"):
        yield from found


def pca_source(principal: pca.Principal, size: int) -> Source:
    """The first principal components."""
    return Source(f"pca:{size}", size, lambda x: principal.project(x, size))


def _asked(asked: str, data: Dataset, seed: int, folder: str) -> Iterator[Source]:
    """The sources that the words name."""
    features = data.train.x[0].numel()
    kind, _, argument = asked.partition(":")
    if asked == "raw":
        yield Source("raw", features, lambda x: x.flatten(1))
    elif kind == "pca":
        if not argument.isdecimal() or not 1 <= int(argument) <= features:
            raise UserError(f"'{asked}': write pca:K with K from 1 to the {features:,} entries of a sample")
        if pca.too_large(data.train.x):
            raise UserError(f"'{asked}': {pca.too_large(data.train.x)}")
        yield Source(asked, int(argument), lambda x: x)
    elif kind == "untrained":
        yield _untrained(argument, data, seed)
    else:
        yield from of_run(Path(folder), data)


def of_run(folder: Path, data: Dataset) -> Iterator[Source]:
    """The encoders of a run, and each kind untrained."""
    about = files.read_json(runs.verify(folder, "model.json"))
    path = runs.verify(folder, "model.safetensors")
    tensors = layouts.read(path)
    if "cells" not in about:
        yield from _vit_run(folder, about, tensors, data)
        return
    if about["features"] != data.train.x[0].numel():
        raise UserError(
            f"{folder}: its encoders read {about['features']:,} entries, a sample of {data.name} has "
            f"{data.train.x[0].numel():,}"
        )
    before: dict[int, autoencoder.Autoencoder] = {}
    for name, (trained, first) in autoencoders.read(about, tensors, path).items():
        yield Source(name, trained.sizes[-1], trained.encode)
        before.setdefault(first.sizes[-1], first)
    for size, first in before.items():
        yield Source(f"untrained.{size}", size, first.encode)


def _vit_run(
    folder: Path, about: dict[str, Any], tensors: dict[str, Tensor], data: Dataset
) -> Iterator[Source]:
    arch, seed = Arch(**about["arch"]), files.read_json(folder / "config.json")["seed"]
    if (arch.channels, arch.image, arch.image) != data.shape:
        raise UserError(
            f"{folder}: the network takes {arch.channels}x{arch.image}x{arch.image} images, not {data.shape}"
        )
    trained, first = vit.build(arch, seed).eval(), vit.build(arch, seed).eval()
    layouts.fill(trained, tensors, str(folder), except_head=True)
    yield Source(folder.name, arch.width, _normalising(trained, about))
    yield Source("untrained", arch.width, _normalising(first, about))


def _untrained(name: str, data: Dataset, seed: int) -> Source:
    match = DENSE.fullmatch(name)
    if match:
        widths = [int(width) for width in match[2][1:].split("-")]
        activation = "identity" if match[1] == "linear" else "relu"
        autoencoder.refuse_if_too_big([(data.train.x[0].numel(), *widths)], 1)
        model = autoencoder.build(data.train.x[0].numel(), widths, activation, seed).eval()
        return Source(f"untrained:{name}", widths[-1], model.encode)
    if len(data.shape) != 3 or data.shape[1] != data.shape[2]:
        raise UserError(
            f"untrained:{name}: {data.name} has no square images; write untrained:mlp-256-64, for instance"
        )
    channels, side, _ = data.shape
    arch = tables.arch(name, (), image=side, channels=channels, classes=max(1, len(data.classes)))
    about = {"mean": data.mean, "std": data.std}
    return Source(f"untrained:{name}", arch.width, _normalising(vit.build(arch, seed).eval(), about))


def _normalising(net: vit.ViT, about: dict[str, Any]) -> Encode:
    """What the head of a ViT reads, of images as they are."""
    mean, std = (
        torch.tensor(about[key] or [default]).view(-1, 1, 1) for key, default in (("mean", 0.0), ("std", 1.0))
    )
    return lambda x: net.features((x - mean) / std)
