"""Activations are found by what is computed, not by what modules are called."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from vitruvius.core.errors import UserError
from vitruvius.proxies._activations import Activations


def tokens() -> Tensor:
    return torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0), requires_grad=True) * 1.0


WEIGHT = torch.ones(4, 4)


def test_linear_maps_are_seen_however_they_are_called() -> None:
    with Activations() as seen:
        functional.linear(tokens(), WEIGHT)
        functional.linear(tokens(), weight=WEIGHT)
        functional.linear(input=tokens(), weight=WEIGHT, bias=None)
        functional.conv1d(tokens(), torch.ones(2, 3, 1))
    assert [call.output.shape[-2:] for call in seen.linear] == [(3, 4), (3, 4), (3, 4), (2, 4)]
    assert seen.features is seen.linear[-1].input


@pytest.mark.parametrize(
    "activation",
    [
        functional.gelu,
        functional.relu,
        nn.SiLU(),
        torch.tanh,
        Tensor.sigmoid,
        nn.PReLU(),
        nn.Softplus(),
        nn.ELU(),
    ],
)
def test_activation_functions_are_seen_as_functions_methods_and_modules(
    activation: Callable[[Tensor], Tensor],
) -> None:
    before = tokens()
    with Activations() as seen:
        activation(before)
    assert len(seen.nonlinear) == 1
    assert seen.nonlinear[0] is before


def test_what_is_passed_by_is_the_older_term() -> None:
    skip = tokens()
    branch = skip * 2
    with Activations() as seen:
        first = skip + branch
        second = torch.add(first * 3, first)
    assert [step.skip is old for step, old in zip(seen.residual, (skip, first), strict=True)] == [True, True]
    assert seen.residual[1].output is second


def test_positions_and_numbers_are_not_residual_steps() -> None:
    positions = nn.Parameter(torch.zeros(2, 3, 4))
    with Activations() as seen:
        _ = tokens() + positions + 1 + torch.ones(2, 3, 4) + tokens()[:1]
    with pytest.raises(UserError, match="no residual steps"):
        _ = seen.residual


def test_a_term_that_is_overwritten_is_refused() -> None:
    with Activations() as seen:
        sum_ = tokens() + tokens() * 2
        sum_ += tokens() * 3
    with pytest.raises(UserError, match="in place"):
        _ = seen.residual


def test_attention_is_seen_with_the_linear_maps_around_it() -> None:
    first, q, k, out, other = (torch.randn(4, 4) for _ in range(5))
    with Activations() as seen:
        x = functional.linear(tokens(), first)
        queries, keys = (
            functional.linear(x, weight).unflatten(-1, (2, 2)).transpose(1, 2) for weight in (q, k)
        )
        mixed = functional.scaled_dot_product_attention(queries, keys, keys).transpose(1, 2).flatten(2)
        x = x + functional.linear(mixed, out)
        scores = functional.linear(x, other).unflatten(-1, (2, 2)).transpose(1, 2) @ keys.mT
        y = x + scores.softmax(dim=-1).sum((1, 3))[..., None] * x
        functional.linear(y, first)
    fused, plain = seen.all_attention
    by_hand = torch.stack([(queries[:, h] @ keys[:, h].mT / 2**0.5).softmax(-1) for h in range(2)], 1)
    assert torch.allclose(fused.weights, by_hand)
    assert torch.allclose(plain.weights, scores.softmax(-1))
    around = [[one.weight for one in seen.projections(call)] for call in seen.all_attention]
    assert [len(maps) for maps in around] == [3, 1]  # after the second, a residual step comes first
    assert all(map(torch.Tensor.is_set_to, around[0], (q, k, out)))
    assert around[1][0] is other


@pytest.mark.parametrize("masked", [False, True])
def test_weights_of_fused_attention_are_those_it_uses(masked: bool) -> None:
    q, k, v = (torch.randn(2, heads, 3, 4, dtype=torch.float64) for heads in (4, 2, 2))
    mask = torch.tensor([[True, False, True]] * 3) if masked else None
    options: Any = {"attn_mask": mask, "is_causal": not masked, "scale": 0.3, "enable_gqa": True}
    with Activations() as seen:
        output = functional.scaled_dot_product_attention(q, k, v, **options)
    weights = seen.all_attention[0].weights
    assert torch.allclose(weights @ v.repeat_interleave(2, 1), output)


def test_nothing_is_seen_outside() -> None:
    with Activations() as seen:
        pass
    functional.linear(tokens(), WEIGHT)
    with pytest.raises(UserError, match="no linear maps"):
        _ = seen.linear
