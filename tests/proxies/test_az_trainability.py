"""az_trainability probes the Jacobian of each residual step with random signs."""

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.autograd.functional import jacobian

from vitruvius import proxies
from vitruvius.nn.vit import ViT


def attend(layer: Any, tokens: Tensor) -> Tensor:
    return tokens + layer.attention(layer.norm1(tokens))


def think(layer: Any, tokens: Tensor) -> Tensor:
    return tokens + layer.mlp(layer.norm2(tokens))


def test_it_is_the_mean_over_steps_of_two_minus_s_minus_one_over_s(model: ViT, x: Tensor, y: Tensor) -> None:
    steps = [step for layer in model.layers for step in (partial(attend, layer), partial(think, layer))]
    random = torch.Generator().manual_seed(3)
    tokens, scores = model.embed(x).detach(), []
    tokens = steps.pop(0)(tokens).detach()  # the first step begins at the embedding and is left out
    for step in steps:
        signs = (torch.randint(2, tokens.shape, generator=random) * 2 - 1).double()
        full = jacobian(step, tokens).reshape(150, 150)
        back = (full.T @ signs.flatten()).reshape(25, 6)
        s = np.linalg.norm(sum(np.outer(back[t], signs.reshape(25, 6)[t]) for t in range(25)) / 25, 2)
        scores.append(2 - s - 1 / s)
        tokens = step(tokens).detach()
    once = proxies.one_pass(model, x, y, seed=3)
    assert proxies.get("az_trainability")(once) == pytest.approx(float(np.mean(scores)), rel=1e-8)


def test_it_is_never_positive(model: ViT, x: Tensor, y: Tensor) -> None:
    assert proxies.get("az_trainability")(proxies.one_pass(model, x, y)) <= 0
