"""logsynflow_abs sums absolute weights times the logarithm of one more than the size of their slopes."""

import math

import pytest
import torch
from torch import Tensor, nn

from vitruvius import proxies


def test_it_is_the_sum_over_linear_weights(
    model: nn.Module, x: Tensor, y: Tensor, flow: tuple[dict[str, Tensor], dict[str, Tensor]]
) -> None:
    weights, slopes = flow
    expected = 0.0
    for name, weight in weights.items():
        for w, slope in zip(weight.flatten().tolist(), slopes[name].flatten().tolist(), strict=True):
            expected += w * math.log(1 + abs(slope))
    assert proxies.get("logsynflow_abs")(proxies.one_pass(model, x, y)) == pytest.approx(expected, rel=1e-8)


def test_a_weight_with_a_slope_of_zero_counts_nothing() -> None:
    head = nn.Linear(1, 2, bias=False)
    head.weight.data.zero_()  # so that no slope reaches the weights before it
    model = nn.Sequential(nn.Flatten(), nn.Linear(1, 1), head)
    once = proxies.one_pass(model, torch.ones(1, 1, 1, 1), torch.tensor([0]))
    assert once.flow.gradients["1.weight"].item() == 0
    assert proxies.get("logsynflow_abs")(once) == 0
