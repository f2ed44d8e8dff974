"""params, macs, depth and width_sum count what a network is made of."""

import pytest
import torch
from torch import Tensor, nn

from vitruvius import proxies
from vitruvius.arch.arch import Arch
from vitruvius.core.errors import UserError
from vitruvius.nn.vit import ViT, build


def counted(model: nn.Module, x: Tensor) -> list[float]:
    once = proxies.one_pass(model, x, torch.zeros(len(x), dtype=torch.long))
    return [proxies.get(name)(once) for name in proxies.STRUCTURAL]


def test_a_vit_by_hand() -> None:
    # 4 patches of 2x2, width 3, 2 classes; a layer: norms 6 + 6, qkv 9x3, out 3x3 + 3, mlp 3x5 + 5, 5x3 + 3.
    model = build(Arch(image=4, classes=2, patch=2, width=3, depth=2, heads=1, mlp=5), seed=0)
    per_layer = 6 + 27 + 12 + 6 + 20 + 18
    params = (4 * 3 + 3) + 3 + 5 * 3 + 2 * per_layer + 6 + (3 * 2 + 2)
    # Attention of one head as wide as the tokens: queries and output 3x3 each, two products of 5x5x3.
    macs = 4 * 4 * 3 + 2 * (5 * (9 + 9 + 15 + 15) + 2 * 5 * 5 * 3) + 3 * 2
    assert counted(model, torch.zeros(1, 1, 4, 4)) == [params, macs, 2, 6]


@pytest.mark.parametrize("head_dim", [3, 8])  # the wider heads multiply their weights first
def test_the_counter_of_operations_agrees_with_the_closed_form(model: ViT, x: Tensor, head_dim: int) -> None:
    model = build(model.arch.with_fields(head_dim=head_dim), 0).double()

    class Wrapped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.vit = model

        def forward(self, image: Tensor) -> Tensor:
            return self.vit(image)

    assert counted(Wrapped(), x) == counted(model, x)


def test_products_of_fused_attention_are_counted() -> None:
    class Fused(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            tokens = x.flatten(2).transpose(1, 2)[:, None]  # 100 tokens of width 4
            return nn.functional.scaled_dot_product_attention(tokens, tokens, tokens).mean((1, 2))

    once = proxies.one_pass(Fused(), torch.ones(2, 4, 10, 10), torch.tensor([0, 1]))
    assert proxies.get("macs")(once) == 2 * 100 * 100 * 4


def test_a_network_without_attention_counts_linear_maps_and_convolutions() -> None:
    shared = nn.Linear(4, 4)
    model = nn.Sequential(nn.Conv2d(1, 4, 2), nn.ReLU(), nn.Flatten(), shared, shared, nn.Linear(4, 3))
    params = (4 * 4 + 4) + (16 + 4) + (12 + 3)
    assert counted(model, torch.zeros(1, 1, 2, 2)) == [params, 16 + 16 + 16 + 12, 3, 4 + 4 + 3]


def test_a_network_of_neither_has_no_depth() -> None:
    once = proxies.one_pass(nn.Flatten(), torch.zeros(1, 1, 1, 2), torch.tensor([0]))
    with pytest.raises(UserError, match="no linear maps"):
        proxies.get("depth")(once)
