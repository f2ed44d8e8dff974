"""Networks to look inside, and the computation of those that are too large for a browser.

The same three questions as in viewer/source.js: what the network is, what it makes of a picture with every
attention weight, and the numbers behind one token of one head.
Shapes: B = 1 image, C channels, n patches, N tokens, D width, H heads, E head width, K classes.
"""

import base64
import inspect
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import Tensor

from vitruvius.arch import cost
from vitruvius.arch.arch import Arch
from vitruvius.core import cache, files
from vitruvius.core.config import Strict
from vitruvius.core.errors import UserError
from vitruvius.datasets import Dataset, Split
from vitruvius.nn.vit import ViT
from vitruvius.training import predictor
from vitruvius.web import trained, weights
from vitruvius.web.weights import Viewable

KEPT = 3
"""Networks in memory, those used last."""
BROWSER_MACS, BROWSER_BYTES = 100_000_000, 16 * 2**20
"""What a browser computes while a person draws: multiply-adds of a pass, bytes of weights."""
MOST_WEIGHTS = 2**25
"""Attention weights of one image that are sent to a browser."""


class Changes(Strict):
    """What is changed in the computation, as in viewer/network.js."""

    hidden: tuple[Annotated[int, Field(ge=0)], ...] = ()
    """Patches that are switched off."""
    order: tuple[Annotated[int, Field(ge=0)], ...] | None = None
    """Which patch stands at each place."""
    positions: bool = True
    beta: Annotated[float, Field(ge=0)] | Literal["inf"] = 1.0
    """Inverse temperature as a multiple of the usual one."""


class TokenIndex(Strict):
    """One token of one head of one layer, counted from 0."""

    layer: Annotated[int, Field(ge=0)]
    head: Annotated[int, Field(ge=0)]
    token: Annotated[int, Field(ge=0)]


class Asked(Strict):
    """The head of a question; the pixels follow it as float32."""

    changes: Changes = Changes()
    at: TokenIndex | None = None


@dataclass(frozen=True)
class LayerTrace:
    """What attention computes in one layer."""

    input_ND: Tensor
    q_HNE: Tensor
    k_HNE: Tensor
    v_HNE: Tensor
    weights_HNN: Tensor
    mixed_HNE: Tensor
    output_ND: Tensor


class Networks:
    """The networks that were looked at last."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, float], Viewable] = OrderedDict()
        self._lock = threading.Lock()

    def shipped(self) -> Viewable:
        """Return the network that is part of the package."""
        return self._get("", 0.0, trained.shipped)

    def of_run(self, folder: Path) -> Viewable:
        """Return the network of a training run; it is read again when it has changed."""
        path = folder / "model.safetensors"
        if not files.is_regular(path):
            raise UserError(f"{folder.name} has no network to look inside; is the run finished?")
        return self._get(str(folder), path.stat().st_mtime, lambda: of_run(folder))

    def _get(self, name: str, changed: float, load: Callable[[], Viewable]) -> Viewable:
        with self._lock:  # of two who ask at once the second finds it
            key = (name, changed)
            if key not in self._kept:
                self._kept[key] = load()
            self._kept.move_to_end(key)
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            return self._kept[key]


def of_run(folder: Path) -> Viewable:
    """Load a run with images of its data; without, and with the reason, where they cannot be read.

    Nothing here runs the user's code, downloads, or decodes a large set of pictures anew.
    """
    data = str(files.read_object(folder / "config.json", follow=False).get("data", ""))
    said = "They come from a Python file of yours, which is not run here."
    if ".py:" not in data and not data.endswith(".py"):
        try:
            with cache.closed():
                return trained.of_run(folder)
        except UserError as error:  # the weights may be readable where the data are not
            said = f"They could not be read: {error}."
    model = predictor.load(folder)
    arch = model.net.arch
    blank = Split(torch.zeros(1, arch.channels, arch.image, arch.image, dtype=torch.uint8), None)
    empty = Dataset("none", blank, blank, blank, model.classes, *weights.scale(model))
    text = f"draw or upload a picture: there are no test images. {said}"
    return weights.viewable(model, empty, name=folder.name, text=text)


def fits_browser(arch: Arch) -> bool:
    """Return whether a browser can compute this network while a person draws; it computes no stem."""
    price = cost.cost(arch)
    return not arch.stem and price.macs <= BROWSER_MACS and price.weight_bytes <= BROWSER_BYTES


def description(shown: Viewable) -> dict[str, Any]:
    """Return what is known about a network, its images as texts of their bytes."""
    images = shown.images if shown.images.dtype == torch.uint8 else shown.images.float()
    kind = "uint8" if images.dtype == torch.uint8 else "float32"
    texts = [base64.b64encode(image.contiguous().numpy().tobytes()).decode() for image in images]
    return {**shown.about.description(), "pixels": kind, "images": texts}


def read_question(shown: Viewable, body: bytes) -> tuple[Tensor, Asked]:
    """Read a question: one line of JSON, then the pixels (C, H, W) as little-endian float32."""
    head, _, numbers = body.partition(b"\n")
    asked = Asked(**_json(head))
    arch = shown.about.arch
    count = arch.channels * arch.image**2
    if len(numbers) != 4 * count:
        raise UserError(f"{count} pixels are needed, {len(numbers) / 4:g} were sent")
    pixels = torch.frombuffer(bytearray(numbers), dtype=torch.float32)
    if not bool(pixels.isfinite().all()):
        raise UserError("a pixel is not a number")
    _refuse(arch, asked)
    return pixels.view(1, arch.channels, arch.image, arch.image), asked


def answer(shown: Viewable, pixels_BCHW: Tensor, asked: Asked) -> bytes:
    """Return the scores and then the attention weights of all layers, (H, N, N) each, as float32."""
    logits_K, layers = trace(shown, pixels_BCHW, asked.changes)
    parts = [logits_K, *(layer.weights_HNN.flatten() for layer in layers)]
    return torch.cat(parts).contiguous().numpy().tobytes()


def detail(shown: Viewable, pixels_BCHW: Tensor, asked: Asked) -> dict[str, Any]:
    """Return the numbers behind one token of one head."""
    at = asked.at
    if at is None:
        raise UserError("which layer, head and token?")
    layer = trace(shown, pixels_BCHW, asked.changes)[1][at.layer]
    parts = {
        "x": layer.input_ND[at.token],
        "q": layer.q_HNE[at.head, at.token],
        "keys": layer.k_HNE[at.head],
        "values": layer.v_HNE[at.head],
        "weights": layer.weights_HNN[at.head, at.token],
        "mixed": layer.mixed_HNE[at.head, at.token],
        "output": layer.output_ND[at.token],
    }
    return {name: part.tolist() for name, part in parts.items()}


@torch.no_grad()
def trace(shown: Viewable, pixels_BCHW: Tensor, changes: Changes) -> tuple[Tensor, list[LayerTrace]]:
    """Compute the scores of a picture with everything that attention computes on the way."""
    net, arch = shown.net, shown.net.arch
    model = shown.predictor
    x_BND = _embedded(net, (pixels_BCHW - model.mean) / model.std, changes)
    visible_N = torch.ones(arch.tokens, dtype=torch.bool)
    visible_N[[int(arch.class_token) + patch for patch in changes.hidden]] = False
    mask_NN = None if bool(visible_N.all()) else visible_N[:, None] & visible_N
    layers = []
    blocks: Iterable[Any] = net.layers
    for layer in blocks:
        done = _attended(layer, x_BND, mask_NN, float(changes.beta))
        layers.append(done)
        x_BND = x_BND + done.output_ND
        x_BND = x_BND + layer.mlp(layer.norm2(x_BND))
    if arch.final_norm == "tokens":
        x_BND = net.norm(x_BND)
    if arch.pooling == "cls":
        pooled_BD = x_BND[:, 0]
    else:
        patch_N = visible_N.clone()
        patch_N[: int(arch.class_token)] = False
        pooled_BD = x_BND[:, patch_N].sum(1) / max(1, int(patch_N.sum()))
    if arch.final_norm == "pooled":
        pooled_BD = net.norm(pooled_BD)
    return net.head(pooled_BD)[0], layers


def _embedded(net: ViT, image_BCHW: Tensor, changes: Changes) -> Tensor:
    """The tokens of an image, with positions."""
    cut_BnP = net.cut(image_BCHW)
    x_BND = net.patch_map(cut_BnP[:, list(changes.order)] if changes.order is not None else cut_BnP)
    if net.class_token is not None:
        x_BND = torch.cat([net.class_token, x_BND], dim=1)
    return x_BND + net.positions if net.positions is not None and changes.positions else x_BND


def _attended(layer: Any, x_BND: Tensor, mask_NN: Tensor | None, beta: float) -> LayerTrace:
    """Attention of one layer; the temperature changes those kernels that have one."""
    attention, input_BND = layer.attention, layer.norm1(x_BND)
    q_BHNE, k_BHNE, v_BHNE = attention.project(input_BND)
    has_beta = "beta" in inspect.signature(attention.weigh).parameters
    scale = {"beta": beta * attention.head_dim**-0.5} if has_beta and beta != 1 else {}
    weights_BHNN = attention.weigh(q_BHNE, k_BHNE, mask_NN, **scale)
    mixed_BHNE = weights_BHNN @ v_BHNE
    output_BND = attention.out(mixed_BHNE.transpose(1, 2).flatten(2))
    parts = (input_BND, q_BHNE, k_BHNE, v_BHNE, weights_BHNN, mixed_BHNE, output_BND)
    return LayerTrace(*(part[0] for part in parts))


def _refuse(arch: Arch, asked: Asked) -> None:
    """Refuse an index that the network does not have, and maps that are too large to be sent."""
    changes, at = asked.changes, asked.at
    if any(patch >= arch.patches for patch in changes.hidden):
        raise UserError(f"the picture has {arch.patches} patches, counted from 0")
    if changes.order is not None and sorted(changes.order) != list(range(arch.patches)):
        raise UserError(f"an order names each of the {arch.patches} patches once")
    if at is not None:
        for name, value, count in (("layer", at.layer, arch.depth), ("token", at.token, arch.tokens)):
            if value >= count:
                raise UserError(f"{name} {value}: there are {count}, counted from 0")
        if at.head >= (heads := arch.layers[at.layer].heads):
            raise UserError(f"head {at.head}: there are {heads}, counted from 0")
    if sum(layer.heads for layer in arch.layers) * arch.tokens**2 > MOST_WEIGHTS:
        raise UserError("this network has too many attention weights to be shown")


def _json(head: bytes) -> dict[str, Any]:
    try:
        found = files.parse_json(head)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise UserError("a question begins with one line of JSON, an object")
    return found
