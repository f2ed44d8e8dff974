"""zen perturbs Gaussian images under Gaussian weights and looks at the features before the pooling."""

import math

import pytest
import torch
from torch import Tensor

from vitruvius import proxies
from vitruvius.nn.vit import ViT


def test_only_the_shape_of_the_minibatch_matters(model: ViT, x: Tensor, y: Tensor) -> None:
    zen = proxies.get("zen")
    assert zen(proxies.one_pass(model, x, y)) == zen(proxies.one_pass(model, 2 * x[:3], y[:3]))


def test_norms_are_reset(model: ViT, x: Tensor, y: Tensor) -> None:
    before = proxies.get("zen")(proxies.one_pass(model, x, y))
    for norm in (module for module in model.modules() if isinstance(module, torch.nn.LayerNorm)):
        norm.weight.data.fill_(3.0)  # forgotten by whoever resets linear weights only
        norm.bias.data.fill_(1.0)
    assert proxies.get("zen")(proxies.one_pass(model, x, y)) == before


def test_a_network_without_residual_steps_is_seen_before_its_head(x: Tensor, y: Tensor) -> None:
    layers = torch.nn.Flatten(), torch.nn.Linear(128, 4), torch.nn.Linear(4, 3)
    model = torch.nn.Sequential(*layers).double()
    random = torch.Generator().manual_seed(0)
    draws = []
    for _ in range(32):
        weight, _ = (
            torch.randn(*shape, generator=random, dtype=torch.float64) for shape in ((4, 128), (3, 4))
        )
        _, step = (torch.randn(16, 2, 8, 8, generator=random, dtype=torch.float64) for _ in range(2))
        draws.append(math.log(float((0.01 * step.flatten(1) @ weight.T).abs().sum()) / 16))
    found = proxies.get("zen")(proxies.one_pass(model, x, y))
    assert found == pytest.approx(sum(draws) / 32, rel=1e-9)


def test_another_seed_is_another_score(model: ViT, x: Tensor, y: Tensor) -> None:
    zen = proxies.get("zen")
    assert zen(proxies.one_pass(model, x, y, seed=0)) != zen(proxies.one_pass(model, x, y, seed=1))
