"""A finished run as a model that classifies pictures and shows which patches it attends to.

Shapes: C channels, H and W the image's sides, L layers, K classes.
"""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from vitruvius import datasets
from vitruvius.arch import public_configs
from vitruvius.arch.arch import Arch
from vitruvius.core import files, runs
from vitruvius.core.errors import UserError
from vitruvius.datasets import Dataset
from vitruvius.nn import attention_maps, layouts
from vitruvius.nn.vit import ViT
from vitruvius.training import seeds

NOISE_IMAGES = 64
"""Images of noise on which attention distances are measured if no images are given."""


class Predictor(NamedTuple):
    """A network with its best weights, its class names and its normalisation."""

    net: ViT
    classes: tuple[str, ...]
    mean: Tensor  # (C, 1, 1) of the training pixels in 0..1
    std: Tensor


def load(folder: Path) -> Predictor:
    """Load the model of a training run; its weights are verified by checksum."""
    about = files.read_json(runs.verify(folder, "model.json"))
    net = ViT(Arch(**about["arch"]))
    path = runs.verify(folder, "model.safetensors")
    layouts.fill(net, layouts.read(path), str(path))
    mean, std = (
        torch.tensor(about[key] or [default]).view(-1, 1, 1) for key, default in (("mean", 0.0), ("std", 1.0))
    )
    return Predictor(net.eval(), tuple(about["classes"]), mean, std)


def load_weights(net: ViT, source: str) -> None:
    """Load the weights that `--init` names.

    Positions of another image size are interpolated; a head of another shape stays as it was initialised.
    """
    path = _weight_file(source)
    found = layouts.adapt(layouts.read(path), net.arch)
    layouts.fill(net, found.weights, str(path), except_head=not found.has_head)


def init_notes(source: str, arch: Arch) -> list[str]:
    """Say what `--init` changes besides the weights: positions, head, normalisation."""
    notes = list(layouts.adapt(layouts.read(_weight_file(source)), arch).notes)
    folder = public_configs.find(source)
    if folder is not None and public_configs.read(folder).mean:
        notes.append("mean and standard deviation of the pixels are those of the checkpoint")
    return notes


def _weight_file(source: str) -> Path:
    """Return the weights of a run, a .safetensors file, or a folder of transformers, timm or our own."""
    path = Path(source)
    if path.suffix == ".safetensors":
        return path
    return runs.verify(path if path.is_dir() else runs.find(source), "model.safetensors")


def normalised_like(data: Dataset, source: str) -> Dataset:
    """Return the data with the mean and the standard deviation that a checkpoint's folder names, if any."""
    folder = public_configs.find(source)
    mean, std = public_configs.read(folder)[-2:] if folder is not None and data.mean else ((), ())
    if not mean:
        return data
    if len(mean) != len(data.mean):
        raise UserError(f"--init {source}: it takes {len(mean)} channels, {data.name} has {len(data.mean)}")
    return replace(data, mean=mean, std=std)


def read_picture(name: str, model: Predictor) -> Tensor:
    """Read a PNG or JPEG file as (C, H, W) in 0..1, with the size and channels of the network."""
    arch = model.net.arch
    try:
        pixels_CHW = torch.from_numpy(datasets.read_image(Path(name), arch.image).copy()) / 255
    except UserError as error:
        raise UserError(f"{name}: {error}") from error
    if len(pixels_CHW) == arch.channels:
        return pixels_CHW
    if arch.channels == 1:
        return (pixels_CHW * torch.tensor([0.299, 0.587, 0.114]).view(3, 1, 1)).sum(0, keepdim=True)
    if arch.channels == 3:
        return pixels_CHW.expand(3, -1, -1)
    raise UserError(f"{name}: has {len(pixels_CHW)} channels, the network takes {arch.channels}")


def classify(
    model: Predictor, pixels_CHW: Tensor, top: int
) -> tuple[list[tuple[str, float]], list[tuple[str, Tensor]]]:
    """Return the most probable classes, and the heat maps of attention rollout and of each layer's mean."""
    x = _normalised(model, pixels_CHW[None])
    with torch.no_grad():
        probability_K = model.net(x).softmax(-1)[0, : len(model.classes)]
    best = probability_K.topk(min(top, len(model.classes)))
    guesses = [
        (model.classes[int(index)], float(probability)) for probability, index in zip(*best, strict=True)
    ]
    weights = attention_maps.attention(model.net, x)
    heats = [("rollout", attention_maps.saliency(model.net, attention_maps.rollout(weights))[0])]
    heats += [
        (f"layer {i}", attention_maps.saliency(model.net, w.mean(1))[0]) for i, w in enumerate(weights, 1)
    ]
    return guesses, heats


def distances(model: Predictor, images: list[Tensor]) -> Tensor:
    """Return the mean attention distance (L, heads) over the images, or over noise if there are none."""
    arch = model.net.arch
    if images:
        x = _normalised(model, torch.stack(images))
    else:
        shape = (NOISE_IMAGES, arch.channels, arch.image, arch.image)
        x = torch.randn(shape, generator=seeds.generator(0, "distance"))
    return attention_maps.distances(model.net, attention_maps.attention(model.net, x))


def position_similarity(model: Predictor) -> Tensor | None:
    """Return the cosine similarity of the position embeddings of all patches, None if there are none."""
    return None if model.net.positions is None else attention_maps.position_similarity(model.net)


def _normalised(model: Predictor, pixels_BCHW: Tensor) -> Tensor:
    return (pixels_BCHW - model.mean) / model.std
