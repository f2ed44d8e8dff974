"""zen perturbs the image under Gaussian weights and looks at the features before the head."""

import math

import pytest
import torch
from torch import Tensor
from torch.func import functional_call

from vitruvius import proxies
from vitruvius.nn.vit import ViT


class Features(torch.nn.Module):
    """What the head of a ViT reads."""

    def __init__(self, vit: ViT) -> None:
        super().__init__()
        self.vit = vit

    def forward(self, x: Tensor) -> Tensor:
        return self.vit.features(x)


def test_it_is_the_log_of_the_mean_change_of_the_features(model: ViT, x: Tensor, y: Tensor) -> None:
    for norm in (module for module in model.modules() if isinstance(module, torch.nn.LayerNorm)):
        norm.weight.data.fill_(3.0)  # forgotten by whoever resets linear weights only
        norm.bias.data.fill_(1.0)
    random = torch.Generator().manual_seed(11)
    drawn = {}
    for name, value in model.named_parameters():
        if value.dim() == 2:
            drawn[f"vit.{name}"] = torch.randn(value.shape, generator=random, dtype=torch.float64)
        elif name.endswith("bias"):
            drawn[f"vit.{name}"] = torch.zeros_like(value)
        elif "norm" in name:
            drawn[f"vit.{name}"] = torch.ones_like(value)
    step = 0.01 * torch.randn(x.shape, generator=random, dtype=torch.float64)
    features, moved = (functional_call(Features(model), drawn, (image,)) for image in (x, x + step))
    expected = math.log(sum((features[b] - moved[b]).abs().sum().item() for b in range(5)) / 5)
    assert proxies.get("zen")(proxies.one_pass(model, x, y, seed=11)) == pytest.approx(expected, rel=1e-8)


def test_another_seed_is_another_score(model: ViT, x: Tensor, y: Tensor) -> None:
    zen = proxies.get("zen")
    assert zen(proxies.one_pass(model, x, y, seed=0)) != zen(proxies.one_pass(model, x, y, seed=1))
