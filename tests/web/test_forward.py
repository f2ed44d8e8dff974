"""The forward pass in JavaScript gives torch's scores and attention weights: five networks, 100 images each.

It runs in Node here, and in Chromium in test_browser.py. Shapes: B images, K classes, H heads, N tokens.
"""

import json
import shutil
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from vitruvius.arch.arch import Arch
from vitruvius.core.errors import UserError
from vitruvius.kernels import softmax
from vitruvius.nn import attention_maps, vit
from vitruvius.nn.attention import MultiHeadAttention
from vitruvius.web import weights
from vitruvius.web.weights import About, Viewable

NODE = shutil.which("node")
SCRIPT = Path(__file__).parent / "forward.mjs"
NO_CHANGES: dict[str, Any] = {"hidden": [], "order": None, "positions": True, "beta": 1}
ARCHS = {
    "learned, class token, gelu": Arch(image=8, patch=4, width=12, depth=2, heads=3, mlp=20),
    "sinusoidal, mean, gelu_tanh": Arch(
        image=9, channels=3, patch=3, width=10, depth=2, heads=2, mlp=8, classes=4, positions="sinusoidal",
        pooling="mean", activation="gelu_tanh", qkv_bias=True, out_bias=False, norm_eps=1e-3,
    ),
    "no positions, no class token, relu": Arch(
        image=8, channels=2, patch=2, width=8, depth=1, heads=4, mlp=6, positions="none", pooling="mean",
        class_token=False, activation="relu", final_norm="pooled",
    ),
    "sizes that differ, silu": Arch(
        image=6, patch=2, width=12, depth=3, heads=(2, 3, 1), head_dim=(5, 2, 7), mlp=(3, 16, 9),
        activation="silu", qkv_bias=True, dropout=0.5,
    ),
    "odd width, sinusoidal": Arch(
        image=8, patch=4, width=7, depth=2, heads=1, mlp=9, positions="sinusoidal", classes=3
    ),
}  # fmt: skip
KERNELS = ("hardmax", "linear", "quadratic", "graph")

needs_node = pytest.mark.skipif(NODE is None, reason="needs node")


def shown(arch: Arch, images: int = 100, seed: int = 0) -> Viewable:
    """A network with random weights, larger than they begin, and random images of bytes."""
    net = vit.build(arch, seed).eval()
    with torch.no_grad():
        for value in net.parameters():
            value.mul_(2)
    random = torch.Generator().manual_seed(seed)
    shape = (images, arch.channels, arch.image, arch.image)
    pixels = torch.randint(256, shape, generator=random, dtype=torch.uint8)
    mean, std = tuple(0.3 + 0.1 * i for i in range(arch.channels)), (0.4,) * arch.channels
    about = About(
        name="random",
        text="Random weights.",
        command="",
        arch=arch,
        classes=tuple(f"class {i}" for i in range(arch.classes)),
        mean=mean,
        std=std,
        range=(0, 1),
        labels=(-1,) * images,
    )
    return Viewable(about, net, pixels)


def split(numbers: Tensor, arch: Arch, images: int) -> tuple[Tensor, list[Tensor]]:
    """What the script wrote for one change: logits (B, K) and the weights of each layer (B, H, N, N)."""
    sizes = [arch.classes, *(layer.heads * arch.tokens**2 for layer in arch.layers)]
    parts = numbers.view(images, -1).split(sizes, 1)
    shapes = [(images, layer.heads, arch.tokens, arch.tokens) for layer in arch.layers]
    return parts[0], [part.reshape(shape) for part, shape in zip(parts[1:], shapes, strict=True)]


def in_node(view: Viewable, folder: Path, *changes: dict[str, Any]) -> list[tuple[Tensor, list[Tensor]]]:
    (folder / "network").write_bytes(weights.pack(view))
    words = [str(NODE), str(SCRIPT), str(folder / "network"), json.dumps(changes), str(folder / "out")]
    subprocess.run(words, check=True, timeout=120)
    numbers = torch.frombuffer(bytearray((folder / "out").read_bytes()), dtype=torch.float32)
    return [split(part, view.about.arch, len(view.images)) for part in numbers.view(len(changes), -1)]


def normalised(view: Viewable) -> Tensor:
    return (view.images / 255 - view.predictor.mean) / view.predictor.std


def assert_same(found: tuple[Tensor, list[Tensor]], logits: Tensor, maps: list[Tensor]) -> None:
    for mine, wanted in zip((found[0], *found[1]), (logits, *maps), strict=True):
        torch.testing.assert_close(mine, wanted, rtol=0.0, atol=1e-4)


@needs_node
@pytest.mark.parametrize("name", ARCHS)
def test_scores_and_attention_are_those_of_torch(name: str, tmp_path: Path) -> None:
    view = shown(ARCHS[name])
    x = normalised(view)
    with torch.no_grad():
        logits = view.net(x)
    assert logits.std(0).min() > 1e-2, "networks that say the same of every image would hide faults"
    assert_same(in_node(view, tmp_path, NO_CHANGES)[0], logits, attention_maps.attention(view.net, x))


@needs_node
@pytest.mark.parametrize("kernel", KERNELS)
def test_other_kernels_are_those_of_torch(kernel: str, tmp_path: Path) -> None:
    view = shown(ARCHS["learned, class token, gelu"].with_fields(kernel=kernel), 20)
    x = normalised(view)
    with torch.no_grad():
        logits = view.net(x)
    assert_same(in_node(view, tmp_path, NO_CHANGES)[0], logits, attention_maps.attention(view.net, x))


@torch.no_grad()
def changed(view: Viewable, change: dict[str, Any]) -> tuple[Tensor, list[Tensor]]:
    """The same change made in torch in another way: hidden tokens are cut out, patches moved in the image."""
    net, arch, x = view.net, view.about.arch, normalised(view)
    if change["order"]:
        cut = vit.patches(x, arch.patch)[:, change["order"]]
        x = vit.unpatch(cut, arch.patch, arch.channels)
    tokens = net.embed(x)
    if not change["positions"] and net.positions is not None:
        tokens = tokens - net.positions
    first = int(arch.class_token)
    keep = [i for i in range(arch.tokens) if i - first not in change["hidden"]]
    with_beta: list[Any] = [part for part in net.modules() if isinstance(part, MultiHeadAttention)]
    for part in with_beta:
        beta = float(change["beta"]) * part.head_dim**-0.5
        part.attend, part.weigh = partial(softmax.attend, beta=beta), partial(softmax.weights, beta=beta)
    with attention_maps.recorded(net) as maps:
        logits = net.head(net.pool(net.encode(tokens[:, keep])))
    wide = []
    for seen in maps:
        whole = torch.zeros(*seen.shape[:2], arch.tokens, arch.tokens)
        whole[:, :, torch.tensor(keep)[:, None], torch.tensor(keep)] = seen
        wide.append(whole)
    return logits, wide


CHANGES: dict[str, dict[str, Any]] = {
    "a patch off": {"hidden": [2]},
    "two patches off": {"hidden": [0, 3]},
    "two patches swapped": {"order": [3, 1, 2, 0]},
    "no positions": {"positions": False},
    "beta 0": {"beta": 0},
    "beta 4": {"beta": 4},
    "beta infinite": {"beta": "inf"},
    "everything": {"hidden": [1], "order": [2, 1, 0, 3], "positions": False, "beta": 0.25},
}


@needs_node
@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_changes_do_what_they_say(pooling: str, tmp_path: Path) -> None:
    arch = Arch(image=8, patch=4, width=12, depth=2, heads=(3, 2), mlp=20, pooling=pooling)
    view = shown(arch, 10)
    asked = [NO_CHANGES | change for change in CHANGES.values()]
    found = in_node(view, tmp_path, NO_CHANGES, *asked)
    for name, change, answer in zip(CHANGES, asked, found[1:], strict=True):
        assert (answer[0] - found[0][0]).abs().max() > 1e-3, f"{name}: nothing happened"
        assert_same(answer, *changed(shown(arch, 10), change))


@needs_node
def test_without_positions_the_order_of_the_patches_is_not_seen(tmp_path: Path) -> None:
    moved = NO_CHANGES | {"order": [3, 2, 1, 0], "positions": False}
    (before, _), (after, _) = in_node(
        shown(ARCHS["learned, class token, gelu"], 5), tmp_path, NO_CHANGES | {"positions": False}, moved
    )
    torch.testing.assert_close(before, after, rtol=0, atol=1e-5)


@pytest.mark.parametrize("precision", ["float32", "float16"])
def test_the_file_is_read_back(precision: weights.Precision) -> None:
    view = shown(ARCHS["sizes that differ, silu"], 3)
    found = weights.unpack(weights.pack(view, precision), "file")
    assert found.about == view.about
    assert torch.equal(found.images, view.images)
    with torch.no_grad():
        before, after = (part.net(normalised(view)) for part in (view, found))
    assert torch.equal(before, after) == (precision == "float32")
    torch.testing.assert_close(before, after, rtol=0, atol=0.05)


def test_a_damaged_file_is_refused() -> None:
    content = bytearray(weights.pack(shown(ARCHS["odd width, sinusoidal"], 1)))
    content[-1] ^= 1
    with pytest.raises(UserError, match=r"file: damaged: it does not match its checksum"):
        weights.unpack(bytes(content), "file")
    with pytest.raises(UserError, match=r"file: not a network's file"):
        weights.unpack(bytes(content[:100]), "file")
