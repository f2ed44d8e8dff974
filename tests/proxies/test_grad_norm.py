"""grad_norm is one Euclidean norm over all parameters."""

import math

import pytest
import torch
from torch import Tensor, nn

from vitruvius import proxies


def test_a_network_small_enough_to_do_by_hand() -> None:
    # Pixel 2, scores 2 w = (ln 3 + 2, 2), so p = (3/4, 1/4); for label 1 the slopes are 2 (3/4), 2 (1/4 - 1).
    head = nn.Linear(1, 2, bias=False, dtype=torch.float64)
    head.weight.data = torch.tensor([[math.log(3) / 2 + 1], [1.0]], dtype=torch.float64)
    pixel = torch.full((1, 1, 1, 1), 2.0, dtype=torch.float64)
    once = proxies.one_pass(nn.Sequential(nn.Flatten(), head), pixel, torch.tensor([1]))
    assert proxies.get("grad_norm")(once) == pytest.approx(2.121320343559643, abs=1e-14)


def test_it_is_the_length_of_all_slopes(
    model: nn.Module, x: Tensor, y: Tensor, gradient: dict[str, Tensor]
) -> None:
    expected = math.sqrt(sum(number**2 for slope in gradient.values() for number in slope.flatten().tolist()))
    assert proxies.get("grad_norm")(proxies.one_pass(model, x, y)) == pytest.approx(expected, rel=1e-10)


def test_it_is_not_the_sum_of_the_layers_norms(model: nn.Module, x: Tensor, y: Tensor) -> None:
    once = proxies.one_pass(model, x, y)
    assert proxies.get("grad_norm")(once) < 0.5 * sum(
        gradient.norm().item() for gradient in once.gradients.values()
    )
