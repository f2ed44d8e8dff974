"""Activations are found by what is computed, not by what modules are called."""

from collections.abc import Callable

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


def test_an_mlp_is_two_linear_maps_around_an_activation() -> None:
    first, second, third, other = (torch.ones(4, 4) for _ in range(4))
    with Activations() as seen:
        hidden = functional.dropout(functional.gelu(functional.linear(tokens(), first)), 0.1, training=False)
        functional.linear(hidden, second)
        functional.linear(hidden, third)
        functional.gelu(functional.linear(hidden, other).softmax(-1))
    assert [weight is known for weight, known in zip(seen.mlp.values(), (first, second), strict=True)] == [
        True,
        True,
    ]


def test_nothing_is_seen_outside() -> None:
    with Activations() as seen:
        pass
    functional.linear(tokens(), WEIGHT)
    with pytest.raises(UserError, match="no linear maps"):
        _ = seen.linear
