"""Weights travel to other people's names and back without loss; what does not fit is named."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

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


def test_the_norm_of_a_mean_pooling_checkpoint_has_another_name() -> None:
    model, other = build(ARCH, seed=0), build(ARCH, seed=1)
    torch.nn.init.normal_(model.norm.weight)
    named = {
        name.replace("norm.", "fc_norm.") if name.startswith("norm.") else name: value
        for name, value in layouts.export(model, "timm").items()
    }
    layouts.fill(other, named)
    assert torch.equal(other.norm.weight, model.norm.weight)


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
