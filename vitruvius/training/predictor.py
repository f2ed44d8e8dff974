"""A finished run as a model that classifies pictures and shows where it looks.

Shapes: C channels, H and W the image's sides, L layers, K classes.
"""

from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from vitruvius.arch.arch import Arch
from vitruvius.core import files, runs
from vitruvius.core.errors import UserError
from vitruvius.datasets import _images
from vitruvius.nn import attention_maps as maps
from vitruvius.nn import layouts
from vitruvius.nn.vit import ViT
from vitruvius.training import seeds

NOISE_IMAGES = 64
"""Images of noise on which distances are measured where none are given."""


class Trained(NamedTuple):
    """A network with its best weights, and what belongs to them."""

    net: ViT
    classes: tuple[str, ...]
    mean: Tensor  # (C, 1, 1) of the training pixels in 0..1
    std: Tensor


def load(folder: Path) -> Trained:
    """The model of a training run, its weights verified by checksum."""
    about = files.read_json(runs.verify(folder, "model.json"))
    net = ViT(Arch(**about["arch"]))
    path = runs.verify(folder, "model.safetensors")
    layouts.fill(net, layouts.read(path), str(path))
    mean, std = (
        torch.tensor(about[key] or [default]).view(-1, 1, 1) for key, default in (("mean", 0.0), ("std", 1.0))
    )
    return Trained(net.eval(), tuple(about["classes"]), mean, std)


def start_from(net: ViT, source: str) -> None:
    """Give a network the weights of a run or of a .safetensors file; a head for other classes stays as it is."""
    path = Path(source)
    if path.suffix != ".safetensors":
        path = runs.verify(runs.find(source), "model.safetensors")
    weights = layouts.read(path)
    head = weights.get("head.weight", weights.get("classifier.weight"))
    layouts.fill(net, weights, str(path), except_head=head is None or head.shape != net.head.weight.shape)


def picture(name: str, model: Trained) -> Tensor:
    """A PNG or JPEG file as the network takes it, (C, H, W) in 0..1: resized, grey or colour as it was trained."""
    arch = model.net.arch
    try:
        pixels_CHW = torch.from_numpy(_images.decode(_images.read(Path(name)), arch.image).copy()) / 255
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
    model: Trained, pixels_CHW: Tensor, top: int
) -> tuple[list[tuple[str, float]], list[tuple[str, Tensor]]]:
    """The likeliest classes with their probabilities, and the heat maps of rollout and of each layer's mean."""
    x = _normalised(model, pixels_CHW[None])
    with torch.no_grad():
        share_K = model.net(x).softmax(-1)[0, : len(model.classes)]
    best = share_K.topk(min(top, len(model.classes)))
    guesses = [(model.classes[int(index)], float(share)) for share, index in zip(*best, strict=True)]
    weights = maps.attention(model.net, x)
    heats = [("rollout", maps.saliency(model.net, maps.rollout(weights))[0])]
    heats += [(f"layer {i}", maps.saliency(model.net, w.mean(1))[0]) for i, w in enumerate(weights, 1)]
    return guesses, heats


def distances(model: Trained, images: list[Tensor]) -> Tensor:
    """Mean attention distance per layer and head over the given images, or over noise where there are none; (L, H)."""
    arch = model.net.arch
    if images:
        x = _normalised(model, torch.stack(images))
    else:
        shape = (NOISE_IMAGES, arch.channels, arch.image, arch.image)
        x = torch.randn(shape, generator=seeds.generator(0, "distance"))
    return maps.distances(model.net, maps.attention(model.net, x))


def position_similarity(model: Trained) -> Tensor | None:
    """Cosine similarity between the positions of all patches, if the network has positions."""
    return None if model.net.positions is None else maps.position_similarity(model.net)


def _normalised(model: Trained, pixels_BCHW: Tensor) -> Tensor:
    return (pixels_BCHW - model.mean) / model.std
