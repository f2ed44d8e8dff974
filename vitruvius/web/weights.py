r"""A trained network as one small file for the browser: description, weights and some test images.

The file is in the safetensors format, so that other programs read it too. The header's metadata are texts:

version   "1"
network   JSON, the fields of `About`
crc32     CRC-32 of the bytes of `network` followed by all numbers, as a decimal number

The tensors have the names and shapes of the `ViT` (`state_dict`) in float16 or float32, and `images` are test
images (B, C, H, W): bytes, which stand for 0 to 255 of 255, or float32, used as they are.
"""

import json
import zlib
from dataclasses import dataclass
from typing import Any, Literal

import torch
from pydantic import ConfigDict
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save
from torch import Tensor

from vitruvius.arch.arch import Arch
from vitruvius.core import config
from vitruvius.core.errors import UserError
from vitruvius.datasets import Dataset, Fit, Split
from vitruvius.nn import layouts
from vitruvius.nn.vit import ViT
from vitruvius.training.predictor import Predictor, scale_tensors

VERSION = 1
IMAGES = 20
"""Test images in a file, two of each of ten classes."""
IMAGE_BYTES = 2**20
"""Large images are fewer, so that together they have at most this many numbers."""
Precision = Literal["float32", "float16"]


class About(config.Strict):
    """What the file says about its network; its JSON has further fields that follow from `arch`."""

    model_config = ConfigDict(extra="ignore")
    name: str
    text: str
    """One sentence: the data and the test accuracy."""
    command: str
    """How it was trained."""
    arch: Arch
    classes: tuple[str, ...]
    mean: tuple[float, ...]
    """Per channel."""
    std: tuple[float, ...]
    range: tuple[float, float]
    """The smallest and the largest value of a pixel, before it is normalised."""
    labels: tuple[int, ...]
    """Classes of the test images; -1 where unknown."""
    fit: Fit = "squash"
    """How a picture that is no square becomes one."""

    def description(self) -> dict[str, Any]:
        """Return the fields as JSON has them, with what follows from `arch`."""
        layers = [layer._asdict() for layer in self.arch.layers]
        sizes = {"patches": self.arch.patches, "tokens": self.arch.tokens, "layers": layers}
        arch = {**self.arch.model_dump(mode="json"), "final_norm": self.arch.final_norm, **sizes}
        return {**self.model_dump(mode="json", exclude={"arch"}), "arch": arch}


@dataclass(frozen=True)
class Viewable:
    """A network with everything that the viewer shows of it."""

    about: About
    net: ViT
    images: Tensor  # (B, C, H, W), uint8 or float32

    @property
    def predictor(self) -> Predictor:
        """The network as what classifies pictures."""
        about = self.about
        return Predictor(self.net, about.classes, *scale_tensors(about.mean, about.std), about.fit)


def viewable(model: Predictor, data: Dataset, *, name: str, text: str = "", command: str = "") -> Viewable:
    """Return a trained network with test images of its data, in turn of each class."""
    arch = model.net.arch
    split = next(part for part in (data.test, data.validation, data.train) if len(part))
    chosen = _samples(split, max(1, min(IMAGES, IMAGE_BYTES // split.x[0].numel())))
    x = split.x[chosen]
    # Numbers that are used as they are have no limits of their own.
    low, high = (0.0, 1.0) if x.dtype == torch.uint8 else (float(x.min()), float(x.max()))
    mean, std = scale(model)
    about = About(
        name=name,
        text=text,
        command=command,
        arch=arch,
        classes=model.classes,
        mean=mean,
        std=std,
        range=(low, high if high > low else low + 1),
        labels=(-1,) * len(chosen) if split.y is None else tuple(split.y[chosen].tolist()),
        fit=model.fit,
    )
    return Viewable(about, model.net, x if x.dtype == torch.uint8 else x.float())


def scale(model: Predictor) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the mean and the standard deviation of each channel by which a network's images are scaled."""
    channels = model.net.arch.channels
    mean, std = (value.expand(channels, 1, 1).flatten().tolist() for value in (model.mean, model.std))
    return tuple(mean), tuple(std)


def pack(shown: Viewable, precision: Precision = "float32") -> bytes:
    """Return the content of the file."""
    dtype = {"float32": torch.float32, "float16": torch.float16}[precision]
    tensors = {name: value.detach().to(dtype).contiguous() for name, value in shown.net.state_dict().items()}
    tensors["images"] = shown.images.contiguous()
    network = json.dumps(shown.about.description(), ensure_ascii=False, allow_nan=False)
    plain = save(tensors)
    numbers = plain[8 + int.from_bytes(plain[:8], "little") :]
    checksum = zlib.crc32(numbers, zlib.crc32(network.encode()))
    return save(tensors, {"version": str(VERSION), "network": network, "crc32": str(checksum)})


def unpack(content: bytes, where: str) -> Viewable:
    """Read the content of a file; `where` names it in the sentence about one that is damaged."""
    start = 8 + int.from_bytes(content[:8], "little")
    try:
        tensors = load_tensors(content)
        metadata = json.loads(content[8:start])["__metadata__"]
        version, network, checksum = (metadata[key] for key in ("version", "network", "crc32"))
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{where}: not a network's file: {error}") from error
    if version != str(VERSION):
        raise UserError(f"{where}: a network's file of version {version}, this program reads {VERSION}")
    if str(zlib.crc32(content[start:], zlib.crc32(network.encode()))) != checksum:
        raise UserError(f"{where}: damaged: it does not match its checksum")
    fields = json.loads(network)
    fields["arch"] = {key: value for key, value in fields["arch"].items() if key in Arch.model_fields}
    about = About(**fields)
    images = tensors.pop("images")
    net = ViT(about.arch)
    layouts.fill(net, {name: value.float() for name, value in tensors.items()}, where)
    return Viewable(about, net.eval(), images)


def _samples(split: Split, count: int) -> Tensor:
    """Return the indices of `count` samples, the first of each class, then the second of each, and so on."""
    if split.y is None:
        return torch.arange(min(count, len(split)))
    seen: dict[int, int] = {}
    turns = []
    for index, label in enumerate(split.y.tolist()):
        turns.append((seen.setdefault(label, 0), label, index))
        seen[label] += 1
    return torch.tensor([index for _, _, index in sorted(turns)[:count]])
