"""The same ViT from other libraries: vit-pytorch, transformers and torch's own encoder.

Dropout stands in the same places for all: after the embedding, after attention, inside the MLP and after it;
the peers' dropout of attention weights is taken out, since ours has none.
"""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from vitruvius.arch import cost
from vitruvius.arch.arch import Arch


class TorchEncoder(nn.Module):
    """The same ViT from torch's own layers."""

    def __init__(self, arch: Arch) -> None:
        super().__init__()
        heads = arch.layers[0].heads
        self.patch = nn.Conv2d(arch.channels, arch.width, arch.patch, arch.patch)
        self.token = nn.Parameter(torch.randn(1, 1, arch.width))
        self.positions = nn.Parameter(torch.randn(1, arch.tokens, arch.width))
        self.dropout = nn.Dropout(arch.dropout)
        layer = nn.TransformerEncoderLayer(
            arch.width, heads, arch.layers[0].mlp, arch.dropout, "gelu", batch_first=True, norm_first=True
        )
        layer.self_attn.dropout = 0.0
        self.encoder = nn.TransformerEncoder(
            layer, arch.depth, nn.LayerNorm(arch.width), enable_nested_tensor=False
        )
        self.head = nn.Linear(arch.width, arch.classes)

    def forward(self, x: Tensor) -> Tensor:
        """Class scores."""
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.positions
        return self.head(self.encoder(self.dropout(x))[:, 0])


class Transformers(nn.Module):
    """The ViT of transformers with its classification head."""

    def __init__(self, arch: Arch) -> None:
        super().__init__()
        from transformers import ViTConfig, ViTForImageClassification

        layer = arch.layers[0]
        config = ViTConfig(
            hidden_size=arch.width,
            num_hidden_layers=arch.depth,
            num_attention_heads=layer.heads,
            intermediate_size=layer.mlp,
            hidden_dropout_prob=arch.dropout,
            attention_probs_dropout_prob=0.0,
            image_size=arch.image,
            patch_size=arch.patch,
            num_channels=arch.channels,
            num_labels=arch.classes,
            qkv_bias=arch.qkv_bias,
        )
        self.model = ViTForImageClassification(config)

    def forward(self, x: Tensor) -> Tensor:
        """Class scores."""
        return self.model(pixel_values=x).logits


def vit_pytorch_file(name: str) -> Any:
    """A file of vit-pytorch as a module: importing its package needs torchvision."""
    spec = importlib.util.find_spec("vit_pytorch")
    assert spec is not None
    assert spec.origin is not None
    path = Path(spec.origin).parent / f"{name}.py"
    found = importlib.util.spec_from_file_location(f"vit_pytorch_{name}", path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def vit_pytorch(arch: Arch) -> nn.Module:
    """vit-pytorch's ViT."""
    module = vit_pytorch_file("vit")
    layer = arch.layers[0]
    model = module.ViT(
        image_size=arch.image,
        patch_size=arch.patch,
        num_classes=arch.classes,
        dim=arch.width,
        depth=arch.depth,
        heads=layer.heads,
        mlp_dim=layer.mlp,
        channels=arch.channels,
        dim_head=layer.head_dim,
        dropout=arch.dropout,
        emb_dropout=arch.dropout,
    )
    for part in model.modules():
        if isinstance(part, module.Attention):
            part.dropout = nn.Identity()
    assert isinstance(model, nn.Module)
    return model


PACKAGES = {"vit-pytorch": "vit_pytorch", "transformers": "transformers"}


def missing() -> list[str]:
    """The peers that are not installed; transformers is in the extra `slow`."""
    return [name for name, package in PACKAGES.items() if importlib.util.find_spec(package) is None]


def makers(arch: Arch) -> dict[str, Callable[[], nn.Module]]:
    """A function per installed peer that can build this network; only vit-pytorch has heads of any width."""
    found: dict[str, Callable[[], nn.Module]] = {"vit-pytorch": lambda: vit_pytorch(arch)}
    if arch.layers[0].heads * arch.layers[0].head_dim == arch.width:
        found["torch encoder"] = lambda: TorchEncoder(arch)
        found["transformers"] = lambda: Transformers(arch)
    return {name: make for name, make in found.items() if name not in missing()}


def macs(arch: Arch) -> int:
    """Multiply-adds of a peer for one image: it never multiplies its projections with one another."""
    return cost.cost(arch, fold=False).macs
