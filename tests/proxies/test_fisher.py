"""fisher squares the effect of each channel, summed over tokens, on the loss."""

import pytest
import torch
from torch import Tensor, nn
from torch.func import jacfwd
from torch.nn.functional import cross_entropy

from vitruvius import proxies


def effect_of_channels(model: nn.Module, layer: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """What a layer's output times the slope of the loss in it is, number by number."""
    seen: list[Tensor] = []
    with layer.register_forward_hook(lambda module, inputs, output: seen.append(output.detach())):
        model(x)

    def loss(change: Tensor) -> Tensor:
        with layer.register_forward_hook(lambda module, inputs, output: output + change):
            return cross_entropy(model(x), y)

    return seen[0] * jacfwd(loss)(torch.zeros_like(seen[0]))


def test_it_is_the_mean_square_of_each_channels_effect(model: nn.Module, x: Tensor, y: Tensor) -> None:
    expected = 0.0
    for layer in [module for module in model.modules() if isinstance(module, nn.Linear)]:
        effect = effect_of_channels(model, layer, x, y)
        for channel in range(effect.shape[-1]):
            squares = [effect[image, ..., channel].sum().item() ** 2 for image in range(len(x))]
            expected += layer.in_features * sum(squares) / len(x) / 2
    assert proxies.get("fisher")(proxies.one_pass(model, x, y)) == pytest.approx(expected, rel=1e-10)


def test_channels_of_a_convolution_come_second(y: Tensor) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Conv2d(2, 4, 2, 2), nn.Tanh(), nn.Flatten(), nn.Linear(64, 3)).double()
        x = torch.randn(5, 2, 8, 8, dtype=torch.float64)
    expected = 0.0
    for layer, fan_in in ((model[0], 8), (model[3], 64)):
        effect = effect_of_channels(model, layer, x, y)
        per_image = effect.sum((2, 3)) if effect.dim() == 4 else effect
        expected += fan_in * (per_image**2).mean(0).sum().item() / 2
    assert proxies.get("fisher")(proxies.one_pass(model, x, y)) == pytest.approx(expected, rel=1e-10)
