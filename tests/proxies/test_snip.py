"""snip is the sum of |gradient x weight| over all parameters."""

import math

import pytest
import torch
from torch import Tensor, nn

from vitruvius import proxies


def test_a_network_small_enough_to_do_by_hand() -> None:
    # Pixel 2, scores 2 w = (ln 3 + 2, 2), so p = (3/4, 1/4); for label 1 the slopes are 3/2 and -3/2:
    # 3/2 (ln 3 / 2 + 1) + 3/2 = 3.82396...
    head = nn.Linear(1, 2, bias=False, dtype=torch.float64)
    head.weight.data = torch.tensor([[math.log(3) / 2 + 1], [1.0]], dtype=torch.float64)
    pixel = torch.full((1, 1, 1, 1), 2.0, dtype=torch.float64)
    once = proxies.one_pass(nn.Sequential(nn.Flatten(), head), pixel, torch.tensor([1]))
    assert proxies.get("snip")(once) == pytest.approx(3.8239592165010823, abs=1e-14)


def test_it_is_the_sum_over_all_parameters(
    model: nn.Module, x: Tensor, y: Tensor, values: dict[str, Tensor], gradient: dict[str, Tensor]
) -> None:
    expected = 0.0
    for name, value in values.items():
        for weight, slope in zip(value.flatten().tolist(), gradient[name].flatten().tolist(), strict=True):
            expected += abs(weight * slope)
    assert proxies.get("snip")(proxies.one_pass(model, x, y)) == pytest.approx(expected, rel=1e-10)
