"""Quadratic attention: its definition, its two routes, its O(N) memory and its zero denominators."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor

from vitruvius.core.errors import UserError
from vitruvius.kernels import Mask, _blocked, _features, quadratic

Measure = Callable[[Callable[[], Tensor]], int]


def draw(tokens: int, width: int = 4, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    random = torch.Generator().manual_seed(0)
    q, k, v = (
        torch.randn(1, 2, tokens, width, dtype=dtype, generator=random).requires_grad_() for _ in range(3)
    )
    return q, k, v


def definition(q: Tensor, k: Tensor, factor: np.ndarray) -> np.ndarray:
    kappa = (np.einsum("bhnd,bhmd->bhnm", q.detach(), k.detach()) + 1) ** 2 * factor
    return kappa / kappa.sum(-1, keepdims=True)


def stored(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The textbook form, which keeps the features of all queries and keys."""
    a, b = quadratic.features(q), quadratic.features(k)
    return a @ (b.mT @ v) / (a @ b.sum(2).unsqueeze(-1))


@pytest.mark.parametrize("route", quadratic.ROUTES)
@pytest.mark.parametrize("tokens", [5, 300])
def test_the_output_is_the_definition(route: str, tokens: int) -> None:
    q, k, v = draw(tokens)
    bias = torch.randn(tokens, tokens, dtype=torch.float64)
    triangle = np.tril(np.ones((tokens, tokens)))
    cases: list[tuple[Mask, np.ndarray]] = [
        (None, np.ones(1)),
        ("causal", triangle),
        (bias, np.exp(bias.numpy())),
    ]
    for mask, factor in cases:
        expected = definition(q, k, factor)
        assert np.allclose(quadratic.weights(q, k, mask).detach(), expected, atol=1e-12)
        assert np.allclose(
            quadratic.attend(q, k, v, mask, route=route).detach(), expected @ v.detach().numpy()
        )


@pytest.mark.parametrize("mask", [None, "causal"])
@pytest.mark.parametrize(("tokens", "width"), [(96, 32), (600, 8)])
def test_the_routes_agree_in_values_and_gradients(mask: Mask, tokens: int, width: int) -> None:
    q, k, v = draw(tokens, width)
    cotangent = torch.randn_like(v)
    results = []
    for attend in (quadratic.attend, lambda *x, route: quadratic.weights(q, k, mask) @ v):
        for route in ("blocked", "features"):
            out = attend(q, k, v, mask, route=route)
            results.append([out, *torch.autograd.grad(out, (q, k, v), cotangent)])
    for other in results[1:]:
        for x, y in zip(results[0], other, strict=True):
            assert (x - y).abs().max() <= 1e-12 * y.abs().max()


def test_products_of_features_are_the_kernel() -> None:
    q, k, _ = draw(5, 7)
    assert quadratic.features(q).shape == (1, 2, 5, 8 * 9 // 2)
    assert torch.allclose(quadratic.features(q) @ quadratic.features(k).mT, (q @ k.mT + 1) ** 2, rtol=1e-13)


def test_the_chunked_map_is_the_public_one() -> None:
    x = torch.randn(3, 5, 7, dtype=torch.float64)
    with_one = torch.cat([x, torch.ones(3, 5, 1, dtype=torch.float64)], -1)
    room = torch.empty(3 * 5 * 36, dtype=torch.float64)
    assert torch.allclose(_features.expand(with_one.mT, 2, room).mT, quadratic.features(x))


@pytest.mark.parametrize("mask", [None, "causal"])
@pytest.mark.parametrize("route", ["auto", "blocked", "features"])
def test_bytes_kept_for_backward_grow_with_the_tokens(route: str, mask: Mask, saved_bytes: Measure) -> None:
    kept = []
    for tokens in (4096, 8192):
        q, k, v = (x[:, :1] for x in draw(tokens, 8, torch.float32))
        kept.append(saved_bytes(partial(quadratic.attend, q, k, v, mask, route=route)))
    assert kept[1] <= 2.1 * kept[0]


def test_the_features_route_keeps_a_fifth_of_the_stored_map(saved_bytes: Measure) -> None:
    q, k, v = (x[:, :1] for x in draw(4096, 32, torch.float32))
    assert 5 * saved_bytes(lambda: quadratic.attend(q, k, v, route="features")) <= saved_bytes(
        lambda: stored(q, k, v)
    )


@pytest.mark.parametrize("route", ["blocked", "features"])
@pytest.mark.parametrize("tokens", [5, 300])
def test_rows_whose_similarities_all_vanish_are_zero(route: str, tokens: int) -> None:
    random = torch.Generator().manual_seed(0)
    for dtype in (torch.float64, torch.float32):
        direction = torch.randn(6, dtype=dtype, generator=random)
        q = torch.randn(1, 1, tokens, 6, dtype=dtype, generator=random)
        q[:, :, 2] = direction
        k = (
            (-direction / direction.dot(direction)).expand(1, 1, tokens, 6).clone()
        )  # q.k = -1 but for rounding
        v = torch.randn(1, 1, tokens, 2, dtype=dtype, generator=random)
        out = quadratic.attend(q.requires_grad_(), k.requires_grad_(), v.requires_grad_(), route=route)
        assert (out[:, :, 2] == 0).all()
        assert (out[:, :, 1] != 0).all()
        assert (quadratic.weights(q, k)[:, :, 2] == 0).all()
        for rows, test in ((out[:, :, 2], lambda g: g == 0), (out, torch.isfinite)):
            assert all(test(g).all() for g in torch.autograd.grad(rows.sum(), (q, k, v), retain_graph=True))


def test_a_first_row_that_sees_one_dissimilar_key_is_not_taken_for_empty() -> None:
    q, k, v = (x.detach() for x in draw(300, 8, torch.float32))
    k[:, :, 0] = -(1 - 1e-4) * q[:, :, 0] / q[:, :, 0].square().sum(-1, keepdim=True)  # q.k + 1 = 1e-4
    for route in ("blocked", "features"):
        assert torch.allclose(quadratic.attend(q, k, v, "causal", route=route)[:, :, 0], v[:, :, 0])


def test_auto_takes_pairs_when_few_and_features_when_many(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []

    def watch(name: str) -> Callable[..., Tensor]:
        def attend(a: Tensor, b: Tensor, v: Tensor, *args: object, **options: object) -> Tensor:
            taken.append(name)
            return v

        return attend

    monkeypatch.setattr(_blocked, "attend", watch("blocked"))
    monkeypatch.setattr(_features, "attend", watch("features"))
    dense = torch.ones(4096, 1, dtype=torch.bool)
    cases: list[tuple[int, Mask]] = [
        (17, None),
        (1024, None),
        (1024, "causal"),
        (4096, "causal"),
        (4096, dense),
    ]
    for tokens, mask in cases:
        quadratic.attend(*draw(tokens, 16, torch.float32), mask)
    assert taken == ["blocked", "features", "blocked", "features", "blocked"]


def test_an_unknown_route_is_refused() -> None:
    with pytest.raises(UserError, match="no route 'feature': did you mean 'features'"):
        quadratic.attend(*draw(5), route="feature")
