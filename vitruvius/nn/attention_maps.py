"""Attention maps of a model: weights of every layer and head, rollout, mean attention distance.

Removable hooks compute the weights again from the same queries and keys, so the model keeps its fast kernels.
Shapes: B batch, L layers, H heads, N tokens, n patches.
"""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from vitruvius.nn.attention import MultiHeadAttention
from vitruvius.nn.vit import ViT


@contextmanager
def recorded(model: nn.Module) -> Iterator[list[Tensor]]:
    """Append the attention weights of each layer, (B, H, N, N), at every forward pass inside the context."""
    weights: list[Tensor] = []

    def record(module: Any, inputs: tuple[Any, ...], named: dict[str, Any], output: Tensor) -> None:
        given = inspect.signature(module.forward).bind(*inputs, **named).arguments
        q, k, _ = module.project(given["x_BND"])
        weights.append(module.weigh(q, k, given.get("mask")))

    modules = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]
    hooks = [module.register_forward_hook(record, with_kwargs=True) for module in modules]
    try:
        yield weights
    finally:
        for hook in hooks:
            hook.remove()


def attention(model: nn.Module, images_BCHW: Tensor) -> list[Tensor]:
    """Compute the attention weights of each layer, (B, H, N, N), in evaluation mode and without gradients."""
    training = model.training
    model.eval()
    try:
        with torch.no_grad(), recorded(model) as weights:
            model(images_BCHW)
    finally:
        model.train(training)
    return weights


def rollout(weights: list[Tensor]) -> Tensor:
    r"""Attention rollout (Abnar and Zuidema 2020): $\prod_l \tfrac12(\bar A_l + I)$ of the mean heads."""
    self_NN = torch.eye(weights[0].shape[-1]).to(weights[0])
    flow_BNN = self_NN.expand(len(weights[0]), -1, -1)
    for layer_BHNN in weights:
        mixed = (layer_BHNN.mean(1) + self_NN) / 2
        flow_BNN = mixed / mixed.sum(-1, keepdim=True) @ flow_BNN
    return flow_BNN


def saliency(model: ViT, weights_BNN: Tensor) -> Tensor:
    """Share of each patch in what the head reads, as a square grid that sums to 1 (or 0): (B, rows, rows)."""
    skip = int(model.arch.class_token)
    rows = model.arch.image // model.arch.patch
    seen = weights_BNN[:, 0, skip:] if model.arch.pooling == "cls" else weights_BNN[:, skip:, skip:].mean(1)
    # A class token that attends to itself alone gives 0 for every patch, not NaN.
    return (seen / seen.sum(-1, keepdim=True).clamp_min(torch.finfo(seen.dtype).tiny)).reshape(-1, rows, rows)


def distances(model: ViT, weights: list[Tensor]) -> Tensor:
    """Mean attention distance in pixels per layer and head (Dosovitskiy et al. 2021, figure 7); (L, H).

    The distances from a patch to all patches are weighted by its attention; the class token is left out.
    Layers with fewer heads than the widest are filled with NaN.
    """
    skip = int(model.arch.class_token)
    rows = model.arch.image // model.arch.patch
    centres = torch.cartesian_prod(torch.arange(rows), torch.arange(rows)).to(weights[0])
    distance_nn = model.arch.patch * torch.cdist(centres, centres)
    mean_LH = torch.full((len(weights), max(layer.shape[1] for layer in weights)), torch.nan)
    for index, layer_BHNN in enumerate(weights):
        patch_BHnn = layer_BHNN[:, :, skip:, skip:]
        total = patch_BHnn.sum(-1).clamp_min(torch.finfo(patch_BHnn.dtype).tiny)
        mean_BHn = (patch_BHnn * distance_nn).sum(-1) / total
        mean_LH[index, : layer_BHNN.shape[1]] = mean_BHn.mean((0, 2))
    return mean_LH


def position_similarity(model: ViT) -> Tensor:
    """Cosine similarity between the position embeddings of all patches, (n, n)."""
    assert model.positions is not None, "the model has no positions"
    table_nD = model.positions[0, int(model.arch.class_token) :].detach()
    unit = table_nD / table_nD.norm(dim=1, keepdim=True).clamp_min(torch.finfo(table_nD.dtype).tiny)
    return unit @ unit.T
