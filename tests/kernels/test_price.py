"""The closed-form price of every kernel in arch/cost.py is the counted number of multiply-adds."""

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from vitruvius import kernels
from vitruvius.arch import cost
from vitruvius.arch.arch import Layer
from vitruvius.core import plugins

LAYER = Layer(heads=2, head_dim=8, mlp=1)
IN_PLACE = {torch.ops.aten.baddbmm_: lambda total, a, b, **_: 2 * a.numel() * b[2]}
"""torch counts only the form of a batched product that returns a new tensor."""


def counted(kernel: str, tokens: int) -> int:
    """Multiply-adds of one image in one layer, counted by torch."""
    x_BHND = torch.zeros(1, LAYER.heads, tokens, LAYER.head_dim)
    counter = FlopCounterMode(display=False, custom_mapping=IN_PLACE)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), counter:
        kernels.get(kernel).attend(x_BHND, x_BHND, x_BHND)
    return counter.get_total_flops() // 2


@pytest.mark.parametrize("tokens", [10, 600])
@pytest.mark.parametrize("kernel", plugins.members("kernels"))
def test_the_price_of_a_kernel_is_the_counted_one(kernel: str, tokens: int) -> None:
    price, count = cost.attention_macs(kernel, tokens, LAYER), counted(kernel, tokens)
    message = f"arch/cost.py: attention_macs has no right price for the kernel {kernel}"
    assert price == count, f"{message}: {price:,} instead of {count:,} for {tokens} tokens"
