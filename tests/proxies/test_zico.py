"""zico compares gradients between the halves of the minibatch, weight by weight."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from vitruvius import proxies
from vitruvius.core.errors import UserError


def test_it_is_the_log_of_mean_over_deviation_between_batches(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    values: dict[str, Tensor],
    matrices: list[str],
    loss: Callable[..., Tensor],
    slopes: Callable[..., dict[str, Tensor]],
) -> None:
    batches = ((x[:3], y[:3]), (x[3:], y[3:]))
    halves = [slopes(lambda at, x=x, y=y: loss(at, x, y), values) for x, y in batches]
    expected = 0.0
    for name in matrices:
        both = np.stack([half[name].numpy() for half in halves])
        expected += float(np.log((np.abs(both).mean(0) / both.std(0)).sum()))
    assert proxies.get("zico")(proxies.one_pass(model, x, y)) == pytest.approx(expected, rel=1e-8)


def test_dead_weights_are_left_out(model: nn.Module, x: Tensor, y: Tensor) -> None:
    x[:, 0] = 0  # half of every patch is black: these weights have no gradient in any batch
    assert torch.tensor(proxies.get("zico")(proxies.one_pass(model, x, y))).isfinite()


def test_a_gradient_that_is_nan_makes_the_score_nan(model: nn.Module, x: Tensor, y: Tensor) -> None:
    with torch.no_grad():
        next(model.parameters()).fill_(torch.nan)
    assert math.isnan(proxies.get("zico")(proxies.one_pass(model, x, y)))


def test_one_image_has_no_halves(model: nn.Module, x: Tensor, y: Tensor) -> None:
    with pytest.raises(UserError, match="1 image"):
        proxies.get("zico")(proxies.one_pass(model, x[:1], y[:1]))
