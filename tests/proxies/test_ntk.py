"""ntk is minus the condition number of the products of the images' gradients."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.func import functional_call

from vitruvius import proxies
from vitruvius.nn.vit import ViT
from vitruvius.proxies import _one_pass


def test_it_is_minus_the_squared_condition_of_the_gradients(
    model: ViT, x: Tensor, y: Tensor, values: dict[str, Tensor], slopes: Callable[..., dict[str, Tensor]]
) -> None:
    found = slopes(lambda at: functional_call(model, at, (x,)).sum(1), values)
    rows = np.concatenate([slope.reshape(5, -1).numpy() for slope in found.values()], axis=1)
    assert proxies.get("ntk")(proxies.one_pass(model, x, y)) == pytest.approx(
        -(np.linalg.cond(rows) ** 2), rel=1e-8
    )


def test_only_the_first_sixteen_images_count(model: ViT) -> None:
    x = torch.randn(20, 2, 8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    y = torch.zeros(20, dtype=torch.long)
    assert proxies.one_pass(model, x, y).tangent_kernel.shape == (16, 16)
    assert proxies.get("ntk")(proxies.one_pass(model, x, y)) == proxies.get("ntk")(
        proxies.one_pass(model, x[:16], y)
    )


def test_large_networks_are_taken_in_several_rounds(
    model: ViT, x: Tensor, y: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = proxies.one_pass(model, x, y).tangent_kernel
    monkeypatch.setattr(_one_pass, "LARGEST_GRADIENTS", 5 * 200)
    assert torch.allclose(proxies.one_pass(model, x, y).tangent_kernel, whole, rtol=1e-12)
