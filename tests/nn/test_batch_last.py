"""Attention with the images on the last axis, as compiled networks with narrow heads compute it."""

import pytest
import torch
from torch import Tensor

from tests.nn.test_folding import EXACT, differences, with_biases
from vitruvius.arch import cost
from vitruvius.arch.arch import Arch
from vitruvius.nn import attention, batch_last
from vitruvius.nn.vit import build

ARCHS = {
    "narrow heads": Arch(depth=2),
    "biases": Arch(depth=2, qkv_bias=True),
    "all tokens are read": Arch(depth=2, heads=4, head_dim=5, class_token=False, pooling="mean"),
    "one head": Arch(depth=2, heads=1, head_dim=8, out_bias=False),
}


@pytest.fixture
def compiling(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """Networks run as if they were being compiled; the shapes of the queries that were put last."""
    seen: list[tuple[int, ...]] = []

    def attend(q: Tensor, k: Tensor, v: Tensor, beta: float) -> Tensor:
        seen.append(tuple(q.shape))
        return own(q, k, v, beta)

    own = batch_last.attend
    monkeypatch.setattr(batch_last, "attend", attend)
    monkeypatch.setattr(attention, "is_dynamo_compiling", lambda: True)
    return seen


def images(arch: Arch, count: int = 8) -> Tensor:
    return torch.randn(count, arch.channels, arch.image, arch.image, dtype=torch.float64)


@pytest.mark.parametrize("arch", ARCHS.values(), ids=list(ARCHS))
def test_outputs_and_gradients_are_those_of_matrix_products(
    arch: Arch, compiling: list[tuple[int, ...]]
) -> None:
    torch.manual_seed(0)
    found = differences(with_biases(build(arch, 0)), images(arch))
    assert {name: value for name, value in found.items() if value > EXACT} == {}
    where_all_ask = [index for index in range(arch.depth) if cost.asking(arch, index) == arch.tokens]
    assert len(compiling) == len(where_all_ask) > 0


def test_in_the_last_layer_the_class_token_asks_by_matrix_products(compiling: list[tuple[int, ...]]) -> None:
    arch = Arch(depth=2)
    build(arch, 0).double()(images(arch))
    assert compiling == [(8, 8, 17, 8)]


def test_scores_may_be_large_as_in_softmax() -> None:
    q, k, v = (torch.full((1, 2, 3, 8), number, dtype=torch.float64) for number in (1e3, 1e3, 2.0))
    assert torch.equal(batch_last.attend(q, k, v, 1.0), v)


@pytest.mark.parametrize(
    "why",
    ["not compiled", "few images", "wide heads", "16 bits", "a mask", "a hook", "in full"],
)
def test_other_calls_take_the_matrix_products(
    why: str, compiling: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    module, x = attention.MultiHeadAttention(32, 4, 8), torch.randn(8, 5, 32)
    if why == "not compiled":
        monkeypatch.setattr(attention, "is_dynamo_compiling", lambda: False)
    elif why == "few images":
        x = x[:7]
    elif why == "wide heads":
        module = attention.MultiHeadAttention(64, 1, 24)
        x = torch.randn(8, 5, 64)
    elif why == "16 bits":
        module, x = module.bfloat16(), x.bfloat16()
    elif why == "a hook":
        module.qkv.register_forward_hook(lambda *_: None)
    elif why == "in full":
        module.may_fold = False
    assert module(x, "causal" if why == "a mask" else None).shape == x.shape
    assert compiling == []
