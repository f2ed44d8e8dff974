"""Attention maps: the weights a model really used, without changing the model."""

from typing import Any

import pytest
import torch
from torch import nn

from vitruvius.arch.arch import Arch
from vitruvius.nn import attention_maps as maps
from vitruvius.nn.attention import MultiHeadAttention
from vitruvius.nn.vit import ViT, build

ARCH = Arch(image=8, patch=4, width=8, depth=3, heads=2, mlp=12, classes=3)
IMAGES = torch.randn(2, 1, 8, 8, generator=torch.Generator().manual_seed(0))


def sharp(model: ViT) -> ViT:
    """The model with weights large enough that attention is far from uniform."""
    with torch.no_grad():
        layer: Any
        for layer in model.layers:
            layer.attention.qkv.weight.mul_(40)
    return model


def test_the_recorded_weights_are_those_the_model_used() -> None:
    model = sharp(build(ARCH, seed=0)).double().eval()
    weights = maps.attention(model, IMAGES.double())
    x = model.embed(IMAGES.double())
    layer: Any
    for layer, weights_BHNN in zip(model.layers, weights, strict=True):
        qkv = layer.attention.qkv(layer.norm1(x))
        q, k, v = (part.view(2, 5, 2, 4).transpose(1, 2) for part in qkv.chunk(3, dim=-1))
        expected = torch.softmax(q @ k.transpose(-2, -1) / 2.0, dim=-1)
        torch.testing.assert_close(weights_BHNN, expected, rtol=1e-6, atol=1e-6)
        mixed = layer.attention.out((weights_BHNN @ v).transpose(1, 2).flatten(2))
        x = x + mixed
        x = x + layer.mlp(layer.norm2(x))
    torch.testing.assert_close(model.head(model.norm(x)[:, 0]), model(IMAGES.double()))


def test_recording_leaves_no_trace() -> None:
    model = build(ARCH, seed=0).train()
    maps.attention(model, IMAGES)
    assert model.training
    assert not any(module._forward_hooks for module in model.modules())


def test_hooks_are_removed_even_when_the_model_fails() -> None:
    model = build(ARCH, seed=0)
    with pytest.raises(RuntimeError):
        maps.attention(model, torch.randn(2, 3, 8, 8))
    assert not any(module._forward_hooks for module in model.modules())


def test_rollout_of_uniform_attention_is_known() -> None:
    uniform = [torch.full((1, 2, 4, 4), 0.25, dtype=torch.float64)] * 2
    step = torch.full((4, 4), 0.125, dtype=torch.float64) + 0.5 * torch.eye(4, dtype=torch.float64)
    torch.testing.assert_close(maps.rollout(uniform)[0], step @ step)


def test_rollout_rows_are_distributions() -> None:
    flow = maps.rollout(maps.attention(sharp(build(ARCH, seed=0)), IMAGES))
    torch.testing.assert_close(flow.sum(-1), torch.ones(2, 5))


def test_distance_of_known_attention_is_known() -> None:
    model = build(ARCH, seed=0)  # 2 x 2 patches of 4 pixels
    own = torch.zeros(1, 2, 5, 5)
    own[:, 0] = torch.eye(5)  # head 0 looks at itself
    own[:, 1, 1:, 1:] = torch.eye(4)[[3, 2, 1, 0]]  # head 1 at the opposite corner
    found = maps.distances(model, [own])
    torch.testing.assert_close(found, torch.tensor([[0.0, 4 * 2**0.5]]))


def test_the_saliency_of_a_patch_is_its_share() -> None:
    model = build(ARCH, seed=0)
    flow = torch.zeros(1, 5, 5)
    flow[0, 0] = torch.tensor([0.5, 0.1, 0.2, 0.1, 0.1])
    torch.testing.assert_close(maps.saliency(model, flow)[0], torch.tensor([[0.2, 0.4], [0.2, 0.2]]))


def test_a_class_token_that_sees_no_patch_has_no_saliency() -> None:
    flow = torch.eye(5)[None]
    assert torch.equal(maps.saliency(build(ARCH, seed=0), flow)[0], torch.zeros(2, 2))


def test_a_mask_is_recorded_however_it_is_given() -> None:
    layer = MultiHeadAttention(8, 2, 4)
    x = torch.randn(1, 5, 8)
    with maps.recorded(layer) as weights:
        layer(x, "causal")
        layer(x, mask="causal")
        layer(x)
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_positions_are_most_similar_to_themselves() -> None:
    similarity = maps.position_similarity(build(ARCH, seed=0))
    torch.testing.assert_close(similarity.diagonal(), torch.ones(4))


def test_any_module_with_our_attention_can_be_recorded() -> None:
    model = build(ARCH, seed=0)
    wrapped = nn.Sequential(model)
    assert len(maps.attention(wrapped, IMAGES)) == 3
