"""Weights travel to other people's names and back without loss; what does not fit is named."""

import os
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional

from vitruvius.arch import public_configs
from vitruvius.arch.arch import Arch
from vitruvius.core.errors import UserError
from vitruvius.nn import layouts
from vitruvius.nn.vit import ViT, build

ARCH = Arch(image=8, channels=3, patch=4, width=8, depth=2, heads=2, mlp=12, classes=3, qkv_bias=True)


@pytest.mark.parametrize("layout", list(layouts.LAYOUTS))
def test_a_round_trip_through_a_layout_changes_nothing(layout: str, tmp_path: Path) -> None:
    model = build(ARCH, seed=0)
    path = tmp_path / "weights.safetensors"
    save_file(layouts.export(model, layout), path)
    weights = layouts.read(path)
    assert layouts.layout_of(weights) == layout
    other = build(ARCH, seed=1)
    layouts.fill(other, weights)
    assert all(
        torch.equal(a, b)
        for a, b in zip(model.state_dict().values(), other.state_dict().values(), strict=True)
    )


def test_the_public_patch_map_is_a_convolution() -> None:
    exported = layouts.export(build(ARCH, seed=0), "timm")
    assert exported["patch_embed.proj.weight"].shape == (8, 3, 4, 4)
    assert exported["blocks.1.attn.qkv.weight"].shape == (24, 8)


def test_what_does_not_fit_is_named() -> None:
    model = build(ARCH, seed=0)
    good = layouts.export(model, "timm")
    with pytest.raises(UserError, match="lacks norm.weight"):
        layouts.fill(model, {name: value for name, value in good.items() if name != "norm.weight"})
    with pytest.raises(UserError, match="unexpected blocks.7"):
        layouts.fill(model, {**good, "blocks.7.norm1.weight": torch.zeros(8)})
    with pytest.raises(UserError, match=r"head.weight has shape \(5, 8\), the network needs \(3, 8\)"):
        layouts.fill(model, {**good, "head.weight": torch.zeros(5, 8)})
    with pytest.raises(UserError, match="no known layout"):
        layouts.fill(model, {"conv1.weight": torch.zeros(1)})


def test_a_patch_map_of_as_many_numbers_but_another_shape_is_refused() -> None:
    model = build(ARCH, seed=0)
    good = layouts.export(model, "timm")
    with pytest.raises(UserError, match=r"patch_embed.proj.weight has shape \(8, 12, 2, 2\)"):
        layouts.fill(model, {**good, "patch_embed.proj.weight": torch.zeros(8, 12, 2, 2)})
    with pytest.raises(UserError, match=r"norm.weight has shape \(\), the network needs \(8,\)"):
        layouts.fill(model, {**good, "norm.weight": torch.tensor(1.0)})


@pytest.mark.parametrize("layout", ["transformers", "transformers4"])
def test_a_bare_encoder_with_a_pooler_fills_all_but_the_head(layout: str) -> None:
    model, other = build(ARCH, seed=0), build(ARCH, seed=1)
    whole = layouts.export(model, layout).items()
    bare = {name.removeprefix("vit."): value for name, value in whole if not name.startswith("classifier.")}
    layouts.fill(other, {**bare, "pooler.dense.weight": torch.zeros(8, 8)}, except_head=True)
    assert torch.equal(other.patch_map.weight, model.patch_map.weight)
    name = "layers.1.attention.qkv.weight"
    assert torch.equal(other.state_dict()[name], model.state_dict()[name])


def by_their_names(weights: dict[str, Tensor], arch: Arch, x_BCHW: Tensor) -> Tensor:
    """The forward pass of timm and transformers, written from their names in float64: a loop over heads."""
    w = {name.removeprefix("vit."): value.double() for name, value in weights.items()}
    timm = "patch_embed.proj.weight" in w
    patch, token, place = (
        ("patch_embed.proj", "cls_token", "pos_embed")
        if timm
        else tuple(
            f"embeddings.{part}"
            for part in ("patch_embeddings.projection", "cls_token", "position_embeddings")
        )
    )

    def norm(x: Tensor, name: str) -> Tensor:
        x = x - x.mean(-1, keepdim=True)
        x = x / (x.pow(2).mean(-1, keepdim=True) + arch.norm_eps).sqrt()
        return x * w[f"{name}.weight"] + w[f"{name}.bias"]

    def linear(x: Tensor, name: str) -> Tensor:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def names(i: int) -> tuple[str, ...]:
        if timm:
            parts = "norm1 attn.qkv attn.proj norm2 mlp.fc1 mlp.fc2"
            return tuple(f"blocks.{i}.{part}" for part in parts.split())
        if "layers.0.layernorm_before.weight" in w:
            parts = "layernorm_before attention.{}_proj attention.o_proj layernorm_after mlp.fc1 mlp.fc2"
            return tuple(f"layers.{i}.{part}" for part in parts.split())
        parts = "layernorm_before attention.attention.{} attention.output.dense layernorm_after"
        return tuple(
            f"encoder.layer.{i}.{part}" for part in (*parts.split(), "intermediate.dense", "output.dense")
        )

    x = functional.conv2d(x_BCHW.double(), w[f"{patch}.weight"], w[f"{patch}.bias"], stride=arch.patch)
    x = x.flatten(2).transpose(1, 2)
    if token in w:
        x = torch.cat([w[token].expand(x.shape[0], 1, -1), x], 1)
    x = x + w[place]
    size = arch.width // arch.layers[0].heads
    for i in range(arch.depth):
        norm1, qkv, out, norm2, fc1, fc2 = names(i)
        y = norm(x, norm1)
        if timm:
            q, k, v = linear(y, qkv).split(arch.width, -1)
        else:
            words = ("q", "k", "v") if "_proj" in qkv else ("query", "key", "value")
            q, k, v = (linear(y, qkv.format(word)) for word in words)
        heads = [
            (q[..., at : at + size] @ k[..., at : at + size].mT / size**0.5).softmax(-1)
            @ v[..., at : at + size]
            for at in range(0, arch.width, size)
        ]
        ones = torch.ones(arch.width).double()
        x = x + linear(torch.cat(heads, -1), out) * w.get(f"blocks.{i}.ls1.gamma", ones)
        x = x + linear(functional.gelu(linear(norm(x, norm2), fc1)), fc2) * w.get(
            f"blocks.{i}.ls2.gamma", ones
        )
    prefix = int(token in w)
    if "fc_norm.weight" in w:  # timm: the mean of the patches, then the norm
        return linear(norm(x[:, prefix:].mean(1), "fc_norm"), "head")
    x = norm(x, "norm" if timm else "layernorm")
    pooled = x[:, 0] if arch.pooling == "cls" else x[:, prefix:].mean(1)
    return linear(pooled, "head" if timm else "classifier")


def randomised(arch: Arch) -> ViT:
    """A network in float64 whose norms and biases are not at their initial ones and zeros."""
    model = build(arch, seed=0).double().eval()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return model


MEAN = ARCH.with_fields(pooling="mean")
CASES = {
    "timm": ("timm", ARCH),
    "timm, mean": ("timm", MEAN),
    "timm, fc_norm": ("timm", MEAN.with_fields(final_norm="pooled")),
    "timm, fc_norm, no class token": ("timm", MEAN.with_fields(final_norm="pooled", class_token=False)),
    "timm, layer scale": ("timm", ARCH.with_fields(layer_scale=0.5)),
    "transformers": ("transformers", ARCH),
    "transformers4": ("transformers4", ARCH),
}


@pytest.mark.parametrize(("layout", "arch"), CASES.values(), ids=list(CASES))
def test_outputs_are_those_of_the_layouts_own_forward_pass(layout: str, arch: Arch) -> None:
    model, other = randomised(arch), build(arch, seed=1).double().eval()
    weights = layouts.export(model, layout)
    x = torch.randn(3, 3, 8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    torch.testing.assert_close(model(x), by_their_names(weights, arch, x), rtol=1e-10, atol=1e-10)
    layouts.fill(other, weights)
    assert torch.equal(other(x), model(x))


def test_a_library_without_layer_scale_is_told() -> None:
    with pytest.raises(UserError, match=r"the layout transformers has no name for layers\.0\.scale1"):
        layouts.export(build(ARCH.with_fields(layer_scale=0.5), seed=0), "transformers")
    with pytest.raises(UserError, match=r"lacks layers\.0\.scale1"):
        layouts.fill(build(ARCH.with_fields(layer_scale=0.5), seed=0), build(ARCH, seed=0).state_dict())


def test_a_stem_has_names_of_our_own_only() -> None:
    arch = ARCH.with_fields(stem=(3,))
    net, other = (build(arch, seed=seed) for seed in (0, 1))
    layouts.fill(other, layouts.export(net, "vitruvius"))
    assert all(torch.equal(net.state_dict()[name], value) for name, value in other.state_dict().items())
    with pytest.raises(UserError, match=r"the layout timm has no name for stem\.0\.weight"):
        layouts.export(net, "timm")
    with pytest.raises(UserError, match="a stem of 1 convolution;"):
        public_configs.refuse_inexpressible(arch, "timm")


def test_a_norm_after_the_pooling_is_another_function_and_never_mistaken() -> None:
    pooled = randomised(MEAN.with_fields(final_norm="pooled"))
    tokens = build(MEAN, seed=1).double().eval()
    weights = layouts.export(pooled, "timm")
    assert "fc_norm.weight" in weights
    with pytest.raises(UserError, match="last norm is fc_norm.*choose --set final_norm=pooled"):
        layouts.fill(tokens, weights)
    with pytest.raises(UserError, match="last norm is norm.*choose --set final_norm=tokens"):
        layouts.fill(pooled, layouts.export(tokens, "timm"))
    tokens.load_state_dict(pooled.state_dict())
    x = torch.randn(3, 3, 8, 8, dtype=torch.float64)
    assert (tokens(x) - pooled(x)).abs().max() > 1e-3


@pytest.mark.parametrize("side", [5, 2, 1])
@pytest.mark.parametrize(("layout", "antialias"), [("timm", True), ("transformers", False)])
def test_the_grid_of_positions_is_interpolated_as_the_library_does(
    side: int, layout: str, antialias: bool
) -> None:
    model = build(ARCH.with_fields(image=12), seed=0)  # 3 x 3 patches
    arch = ARCH.with_fields(image=4 * side)
    found = layouts.adapt(layouts.export(model, layout), arch)
    assert found.has_head
    assert found.notes == (f"the position grid of 3 x 3 patches is interpolated to {side} x {side}",)
    other = build(arch, seed=1)
    layouts.fill(other, found.weights)
    assert model.positions is not None
    assert other.positions is not None
    assert torch.equal(other.positions[:, 0], model.positions[:, 0])
    picture = model.positions[0, 1:].detach().T.reshape(1, 8, 3, 3)
    wanted = functional.interpolate(picture, (side, side), mode="bicubic", antialias=antialias)
    assert torch.equal(other.positions[0, 1:].T.reshape(1, 8, side, side), wanted)


def test_positions_of_the_patches_alone_leave_the_class_token_as_it_is() -> None:
    model = build(ARCH, seed=0)
    weights = layouts.export(model, "timm")
    weights["pos_embed"] = weights["pos_embed"][:, 1:]
    found = layouts.adapt(weights, ARCH).weights["pos_embed"]
    assert found.shape == (1, 5, 8)
    assert not found[:, 0].any()
    assert torch.equal(found[:, 1:], weights["pos_embed"])


def test_a_head_for_other_classes_is_left_to_the_network() -> None:
    weights = layouts.export(build(ARCH, seed=0), "transformers")
    found = layouts.adapt(weights, ARCH.with_fields(classes=7))
    assert not found.has_head
    assert found.notes == ()


def test_a_head_for_other_classes_can_be_left_out() -> None:
    model = build(ARCH, seed=0)
    wide = build(ARCH.with_fields(classes=7), seed=1)
    before = wide.head.weight.clone()
    layouts.fill(wide, layouts.export(model, "timm"), except_head=True)
    assert torch.equal(wide.head.weight, before)
    assert torch.equal(wide.norm.weight, model.norm.weight)


def test_pickles_and_broken_files_are_refused_unread(tmp_path: Path) -> None:
    (tmp_path / "weights.pt").write_bytes(b"\x80\x04")
    with pytest.raises(UserError, match="can run code"):
        layouts.read(tmp_path / "weights.pt")
    (tmp_path / "broken.safetensors").write_bytes(b"\xff" * 100)
    with pytest.raises(UserError, match="not a readable safetensors file"):
        layouts.read(tmp_path / "broken.safetensors")
    os.mkfifo(tmp_path / "pipe.safetensors")
    with pytest.raises(UserError, match="not a regular file"):
        layouts.read(tmp_path / "pipe.safetensors")


@pytest.mark.slow
def test_our_scores_equal_those_of_transformers() -> None:
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=48,
        image_size=28,
        patch_size=7,
        num_channels=3,
        num_labels=10,
        layer_norm_eps=1e-12,
    )
    torch.manual_seed(0)
    theirs: nn.Module = ViTForImageClassification(config).double().eval()
    arch = Arch(channels=3, width=32, depth=3, heads=4, mlp=48, qkv_bias=True, norm_eps=1e-12)
    ours = ViT(arch).double().eval()
    layouts.fill(ours, theirs.state_dict())
    x = torch.randn(2, 3, 28, 28, dtype=torch.float64)
    torch.testing.assert_close(ours(x), theirs(x).logits, rtol=1e-10, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("side", [12, 8])
def test_interpolated_positions_give_the_scores_of_transformers(side: int) -> None:
    from transformers import ViTConfig, ViTForImageClassification

    sizes = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12}
    config = ViTConfig(**sizes, image_size=16, patch_size=4, num_labels=3, layer_norm_eps=1e-6)
    torch.manual_seed(0)
    theirs: nn.Module = ViTForImageClassification(config).eval()
    arch = ARCH.with_fields(image=side)
    ours = build(arch, seed=0).eval()
    layouts.fill(ours, layouts.adapt(theirs.state_dict(), arch).weights)
    x = torch.randn(2, 3, side, side)
    wanted = theirs(x, interpolate_pos_encoding=True).logits
    torch.testing.assert_close(ours(x), wanted, rtol=1e-5, atol=1e-5)
