"""naswot counts at how many units two images have the same sign before the activation function."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from vitruvius import proxies


def test_it_is_the_log_determinant_of_the_counts(model: nn.Module, x: Tensor, y: Tensor) -> None:
    before: list[Tensor] = []
    for module in model.modules():
        if isinstance(module, nn.GELU):
            module.register_forward_pre_hook(lambda module, inputs: before.append(inputs[0].detach()))
    model(x)
    counts = np.zeros((5, 5))
    for layer in before:
        for a in range(5):
            for b in range(5):
                signs = zip(layer[a].flatten().tolist(), layer[b].flatten().tolist(), strict=True)
                counts[a, b] += sum((left > 0) == (right > 0) for left, right in signs)
    assert len(before) == 2
    assert counts[0, 0] == 5 * (7 + 9)
    expected = math.log(np.linalg.det(counts))
    assert proxies.get("naswot")(proxies.one_pass(model, x, y)) == pytest.approx(expected, rel=1e-10)


def test_two_equal_images_make_it_minus_infinity(model: nn.Module, x: Tensor, y: Tensor) -> None:
    assert (
        proxies.get("naswot")(proxies.one_pass(model, torch.cat([x, x[:1]]), torch.cat([y, y[:1]])))
        == -math.inf
    )


@pytest.mark.parametrize(
    "activation", [nn.ReLU(inplace=True), nn.Hardswish(inplace=True), nn.LeakyReLU(0.1, True)]
)
def test_an_activation_that_overwrites_its_input_is_seen_before_it_does(activation: nn.Module) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        layers = (nn.Flatten(), nn.Linear(4, 9), nn.BatchNorm1d(9), activation, nn.Linear(9, 2))
        x, y = torch.randn(3, 1, 2, 2), torch.zeros(3, dtype=torch.long)
    model = nn.Sequential(*layers)
    in_place = proxies.get("naswot")(proxies.one_pass(model, x, y))
    activation.__dict__["inplace"] = False
    assert in_place == proxies.get("naswot")(proxies.one_pass(model, x, y))
