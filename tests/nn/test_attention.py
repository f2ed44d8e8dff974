"""Attention modules against the textbook and against one another."""

import pytest
import torch
from torch import nn

from vitruvius.nn.attention import MultiHeadAttention, ScaledDotProductAttention


def test_one_head_is_the_textbook_formula() -> None:
    torch.manual_seed(0)
    head = ScaledDotProductAttention(6, 4).double()
    x = torch.randn(3, 5, 6, dtype=torch.float64)
    for row in range(3):
        q, k, v = (x[row] @ part.weight.T for part in (head.query, head.key, head.value))
        weights = torch.exp(q @ k.T / 2.0)  # sqrt(4) = 2
        expected = weights / weights.sum(1, keepdim=True) @ v
        torch.testing.assert_close(head(x)[row], expected, rtol=1e-12, atol=1e-12)


def test_one_head_uses_only_the_allowed_modules() -> None:
    parts = list(ScaledDotProductAttention(6, 4).children())
    assert {type(part) for part in parts} == {nn.Linear, nn.Softmax, nn.Dropout}
    assert all(part.bias is None for part in parts if isinstance(part, nn.Linear))


def test_many_heads_are_single_heads_side_by_side() -> None:
    torch.manual_seed(1)
    heads = [ScaledDotProductAttention(6, 4).double() for _ in range(3)]
    joint = MultiHeadAttention(6, heads=3, head_dim=4).double()
    rows = [getattr(head, name).weight for name in ("query", "key", "value") for head in heads]
    joint.qkv.weight = nn.Parameter(torch.cat(rows))
    x = torch.randn(2, 5, 6, dtype=torch.float64)
    expected = joint.out(torch.cat([head(x) for head in heads], dim=-1))
    torch.testing.assert_close(joint(x), expected, rtol=1e-12, atol=1e-12)


def test_dropout_acts_on_the_weights_in_training_only() -> None:
    torch.manual_seed(2)
    head = ScaledDotProductAttention(6, 4, dropout=0.5)
    x = torch.randn(1, 5, 6)
    assert not torch.equal(head(x), head(x))
    head.eval()
    assert torch.equal(head(x), head(x))


def test_a_mask_hides_tokens() -> None:
    torch.manual_seed(3)
    joint = MultiHeadAttention(6, heads=2, head_dim=3)
    x = torch.randn(1, 4, 6)
    changed = x.clone()
    changed[:, 3] += 1
    assert torch.equal(joint(x, "causal")[:, :3], joint(changed, "causal")[:, :3])
    assert not torch.equal(joint(x)[:, :3], joint(changed)[:, :3])


@pytest.mark.parametrize("kernel", ["softmax", "hardmax", "linear", "quadratic", "graph"])
def test_every_kernel_serves_a_module_and_trains_it(kernel: str) -> None:
    torch.manual_seed(4)
    joint = MultiHeadAttention(6, heads=2, head_dim=3, kernel=kernel)
    joint(torch.randn(2, 5, 6)).square().sum().backward()
    assert joint.qkv.weight.grad is not None
    assert torch.isfinite(joint.qkv.weight.grad).all()
