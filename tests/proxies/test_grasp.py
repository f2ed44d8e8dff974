"""grasp is minus the weights times the Hessian times the gradient."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.func import jvp

from vitruvius import proxies
from vitruvius.arch.arch import Arch
from vitruvius.nn.vit import build

# Central differences of eighth order: PyTorch's forward mode within forward mode is wrong for LayerNorm.
STENCIL = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}


def test_it_is_the_mixed_second_derivative_of_the_loss(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    values: dict[str, Tensor],
    loss: Callable[..., Tensor],
    gradient: dict[str, Tensor],
) -> None:
    def slope_along_the_weights(step: float) -> float:
        at = {name: value + step * gradient[name] for name, value in values.items()}
        return float(jvp(lambda point: loss(point, x, y), (at,), (values,))[1])

    ahead, step = slope_along_the_weights, 0.02
    expected = sum(c * (ahead(k * step) - ahead(-k * step)) for k, c in STENCIL.items()) / step
    assert proxies.get("grasp")(proxies.one_pass(model, x, y)) == pytest.approx(-expected, rel=1e-8)


def test_fused_attention_over_many_tokens_is_differentiated_twice() -> None:
    model = build(Arch(image=18, patch=2, width=8, depth=1, heads=1, mlp=8), seed=0)
    once = proxies.one_pass(model, torch.randn(2, 1, 18, 18), torch.tensor([0, 1]))
    assert torch.tensor(proxies.get("grasp")(once)).isfinite()
