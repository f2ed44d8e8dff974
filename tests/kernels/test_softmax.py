"""Softmax attention: its definition, its limits, its fast paths and half precision."""

import math

import numpy as np
import pytest
import torch
from scipy.special import softmax as scipy_softmax
from torch import Tensor, nn
from torch.nn import functional

from vitruvius.core.errors import UserError
from vitruvius.kernels import softmax


def draw(
    queries: int = 5, keys: int = 6, dtype: torch.dtype = torch.float64, values: int = 4
) -> tuple[Tensor, Tensor, Tensor]:
    random, shapes = torch.Generator().manual_seed(0), ((queries, 4), (keys, 4), (keys, values))
    q, k, v = (torch.randn(2, 3, *shape, dtype=dtype, generator=random) for shape in shapes)
    return q, k, v


@pytest.mark.parametrize("beta", [None, 0.5, "3"])
@pytest.mark.parametrize("keys", [6, 100])
def test_the_output_is_the_definition(beta: float | str | None, keys: int) -> None:
    q, k, v = draw(keys=keys)
    bias = torch.randn(5, keys, dtype=torch.float64)
    scale = 1 / math.sqrt(4) if beta is None else float(beta)
    expected = scipy_softmax(scale * np.einsum("bhnd,bhmd->bhnm", q, k) + bias.numpy(), axis=-1)
    assert np.allclose(softmax.weights(q, k, bias, beta=beta), expected, atol=1e-12)
    assert np.allclose(softmax.attend(q, k, v, bias, beta=beta), expected @ v.numpy(), atol=1e-12)


@pytest.mark.parametrize("beta", [None, 1.0, 0.5])
@pytest.mark.parametrize(("queries", "keys"), [(5, 6), (1, 6), (5, 32), (5, 33)])
@pytest.mark.parametrize("values", [4, 8, 9])
def test_the_output_without_gradients_is_that_with_gradients(
    beta: float | None, queries: int, keys: int, values: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    q, k, v = draw(queries, keys, values=values)
    expected = softmax.attend(q, k, v, beta=beta)
    axes: list[int] = []
    of_tensor = Tensor.softmax

    def spied(scores: Tensor, axis: int) -> Tensor:
        axes.append(axis)
        return of_tensor(scores, axis)

    monkeypatch.setattr(Tensor, "softmax", spied)
    with torch.no_grad():
        found = softmax.attend(q, k, v, beta=beta)
    assert torch.allclose(found, expected, rtol=0, atol=1e-12)
    assert axes == [-2 if queries > 1 and keys <= 32 else -1]  # over columns where that is faster


@pytest.mark.parametrize(("queries", "keys"), [(7, 6), (6, 6), (40, 32), (40, 33)])
def test_compiled_code_with_more_queries_than_keys_goes_over_columns(queries: int, keys: int) -> None:
    found: dict[bool, list[Tensor]] = {}
    axes: list[int] = []

    def backend(graph: torch.fx.GraphModule, inputs: object) -> torch.fx.GraphModule:
        axes.extend(node.args[1] for node in graph.graph.nodes if node.target == "softmax")
        return graph

    for compiled in (False, True):
        q, k, v = (value.requires_grad_() for value in draw(queries, keys))
        attend = torch.compile(softmax.attend, backend=backend) if compiled else softmax.attend
        output = attend(q, k, v)
        output.sin().sum().backward()
        found[compiled] = [output, *(value.grad for value in (q, k, v) if value.grad is not None)]
    for one, other in zip(found[False], found[True], strict=True):
        assert torch.allclose(one, other, rtol=0, atol=1e-12)
    assert axes == [-2 if queries > keys and keys <= 32 else -1]


@pytest.mark.parametrize("keys", [6, 100])
def test_beta_zero_is_the_mean(keys: int) -> None:
    q, k, v = draw(keys=keys)
    assert torch.allclose(softmax.attend(q, k, v, beta=0.0), v.mean(2, keepdim=True).expand(-1, -1, 5, -1))


@pytest.mark.parametrize("beta", ["inf", math.inf])
@pytest.mark.parametrize("keys", [6, 100])
def test_beta_infinite_is_the_best_key(beta: float | str, keys: int) -> None:
    q, k, v = draw(keys=keys)
    best = (q @ k.mT).argmax(-1)
    expected = v.gather(2, best.unsqueeze(-1).expand(-1, -1, -1, 4))
    assert torch.equal(softmax.attend(q, k, v, beta=beta), expected)
    assert torch.allclose(softmax.attend(q, k, v, beta=1e6), expected)


def test_beta_infinite_splits_ties_evenly_and_by_a_float_mask() -> None:
    q, k = torch.ones(1, 1, 1, 1), torch.tensor([1.0, 3.0, 3.0, 2.0]).view(1, 1, 4, 1)
    assert softmax.weights(q, k, beta="inf").flatten().tolist() == [0.0, 0.5, 0.5, 0.0]
    hidden = torch.tensor([True, False, False, True])
    assert softmax.weights(q, k, hidden, beta="inf").flatten().tolist() == [0.0, 0.0, 0.0, 1.0]
    bias = torch.tensor([9.0, math.log(3.0), 0.0, 9.0])
    assert torch.allclose(
        softmax.weights(q, k, bias, beta="inf").flatten(), torch.tensor([0.0, 0.75, 0.25, 0.0])
    )


@pytest.mark.parametrize("beta", [1e4, 1e30, 1e300, math.inf])
def test_no_beta_overflows(beta: float) -> None:
    q, k, v = (x.requires_grad_() for x in draw(dtype=torch.float32))
    out = softmax.attend(1e2 * q, 1e2 * k, v, torch.ones(6, dtype=torch.bool), beta=beta)
    assert out.isfinite().all()
    gradients = torch.autograd.grad(out.sum(), (q, k, v), allow_unused=True)
    assert all(gradient is None or gradient.isfinite().all() for gradient in gradients)


def test_the_gradient_of_a_sharp_softmax_is_that_of_its_definition() -> None:
    q, k, v = (x[:1, :1].requires_grad_() for x in draw(2, 3))
    beta = 2 * softmax.SHARP_BETA
    small = 1 / beta  # scores of order 1, so that the gradient is not 0
    assert torch.autograd.gradcheck(lambda q, k, v: softmax.attend(q * small, k, v, beta=beta), (q, k, v))


@pytest.mark.parametrize("beta", [-1.0, "-inf", math.nan, "warm"])
def test_a_beta_that_is_no_inverse_temperature_is_refused(beta: float | str) -> None:
    q, k, v = draw()
    with pytest.raises(UserError, match="^beta .*: expected a number from 0"):
        softmax.attend(q, k, v, beta=beta)


@pytest.mark.parametrize("mask", [None, "causal", "bool"])
def test_short_rows_are_explicit_and_long_rows_fused(
    mask: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[int, ...]] = []
    fused = functional.scaled_dot_product_attention

    def watched(q: Tensor, k: Tensor, *args: object, **options: object) -> Tensor:
        calls.append(tuple(k.shape))
        return fused(q, k, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(functional, "scaled_dot_product_attention", watched)
    for keys in (64, 65):
        seen = torch.rand(5, keys) > 0.3 if mask == "bool" else mask
        q, k, v = draw(keys=keys)
        assert torch.allclose(softmax.attend(q, k, v, seen), softmax.weights(q, k, seen) @ v, atol=1e-12)
    assert calls == [(2, 3, 65, 4)]


def test_one_visible_key_is_copied_exactly() -> None:
    for keys in (6, 100):
        q, k, v = draw(keys=keys, dtype=torch.float32)
        only = torch.arange(keys) == 2
        assert torch.equal(softmax.attend(q, k, v, only), v[:, :, 2:3].expand(-1, -1, 5, -1))


@pytest.mark.parametrize("keys", [6, 100])
def test_dropout_is_that_of_the_module_on_the_weights(keys: int) -> None:
    q, k, v = draw(keys=keys)
    torch.manual_seed(3)
    out = softmax.attend(q, k, v, dropout=0.4)
    torch.manual_seed(3)
    assert torch.allclose(out, nn.Dropout(0.4)(softmax.weights(q, k)) @ v)
    assert not torch.allclose(out, softmax.attend(q, k, v))


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
def test_half_precision_is_softmaxed_in_float32(half: torch.dtype) -> None:
    q, k, v = (x.to(half) for x in draw())
    in_float = softmax.weights(q.float(), k.float())
    assert torch.equal(softmax.weights(q, k), in_float.to(half))
    assert torch.equal(softmax.attend(q, k, v), (in_float @ v.float()).to(half))


def test_autocast_does_not_lower_the_weights() -> None:
    q, k, v = draw(dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        weights, out = softmax.weights(q, k), softmax.attend(q, k, v)
    assert torch.equal(weights, softmax.weights(q, k))
    assert torch.equal(out, softmax.attend(q, k, v))
