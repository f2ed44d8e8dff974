"""Linear attention: its definition and its O(N) memory."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor

from vitruvius.kernels import Mask, _blocked, linear


def draw(tokens: int, width: int = 4, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    random = torch.Generator().manual_seed(0)
    q, k, v = (
        torch.randn(1, 2, tokens, width, dtype=dtype, generator=random).requires_grad_() for _ in range(3)
    )
    return q, k, v


def definition(q: Tensor, k: Tensor, factor: np.ndarray) -> np.ndarray:
    """Normalised products of the features x + 1 above 0 and exp(x) below, times the mask's factor."""
    a, b = (np.where(x > 0, x + 1, np.exp(x)) for x in (q.detach().numpy(), k.detach().numpy()))
    kappa = np.einsum("bhnd,bhmd->bhnm", a, b) * factor
    return kappa / kappa.sum(-1, keepdims=True)


@pytest.mark.parametrize("tokens", [5, 300])
def test_the_output_is_the_definition(tokens: int) -> None:
    q, k, v = draw(tokens)
    bias = torch.randn(tokens, tokens, dtype=torch.float64)
    keys = torch.randn(tokens, dtype=torch.float64)
    triangle = np.tril(np.ones((tokens, tokens)))
    cases: list[tuple[Mask, np.ndarray]] = [
        (None, np.ones(1)),
        ("causal", triangle),
        (bias, np.exp(bias.numpy())),
        (keys, np.exp(keys.numpy())),
    ]
    for mask, factor in cases:
        expected = definition(q, k, factor)
        assert np.allclose(linear.weights(q, k, mask).detach(), expected, atol=1e-12)
        assert np.allclose(linear.attend(q, k, v, mask).detach(), expected @ v.detach().numpy(), atol=1e-12)


@pytest.mark.parametrize("mask", [None, "causal"])
def test_long_gradients_are_those_of_the_stored_weights(mask: Mask) -> None:
    q, k, v = draw(700)
    cotangent = torch.randn_like(v)
    ours = torch.autograd.grad(linear.attend(q, k, v, mask), (q, k, v), cotangent)
    stored = torch.autograd.grad(linear.weights(q, k, mask) @ v, (q, k, v), cotangent)
    assert all(torch.allclose(x, y, rtol=1e-12, atol=1e-12) for x, y in zip(ours, stored, strict=True))


@pytest.mark.parametrize("mask", ["none", "causal", "padding"])
def test_bytes_kept_for_backward_grow_with_the_tokens(
    mask: str, saved_bytes: Callable[[Callable[[], Tensor]], int]
) -> None:
    kept = []
    for tokens in (4096, 8192):
        q, k, v = draw(tokens, 16, torch.float32)
        given = {"none": None, "causal": "causal", "padding": torch.arange(tokens) < 4000}[mask]
        kept.append(saved_bytes(partial(linear.attend, q, k, v, given)))
    assert kept[1] <= 2.1 * kept[0]
    assert kept[1] <= 10 * 2 * 8192 * 16 * 4  # ten tensors of the inputs' size


def test_a_mask_over_keys_does_not_go_over_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(_blocked, "attend")
    q, k, v = draw(300)
    assert linear.attend(q, k, v, torch.arange(300) < 200).shape == v.shape


@pytest.mark.parametrize("mask", [None, "causal"])
@pytest.mark.parametrize("shift", [15.0, 20.0, 1000.0])
def test_small_features_weigh_as_in_float64(mask: Mask, shift: float) -> None:
    for tokens in (5, 300):
        q, k, v = draw(tokens, dtype=torch.float32)
        for low in ((q - shift, k, v), (q, k - shift, v)):
            out = linear.attend(*low, mask)
            exact = linear.attend(low[0].double(), low[1].double(), low[2].double(), mask)
            assert torch.allclose(out.double(), exact, atol=1e-5)
            assert all(g.isfinite().all() for g in torch.autograd.grad(out.sum(), (q, k, v)))
