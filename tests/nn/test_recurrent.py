"""The recurrent net: its values are the formula's, a window cuts gradients and nothing else."""

import math

import pytest
import torch
from torch import Tensor

from vitruvius.core.errors import UserError
from vitruvius.nn.recurrent import RNN


def net(inputs: int = 2, hidden: int = 3, outputs: int = 2) -> RNN:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return RNN(inputs, hidden, outputs).double()


def sequence(steps: int = 5) -> Tensor:
    return torch.rand(4, steps, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def gradients(model: RNN, x: Tensor, window: int | None) -> list[Tensor]:
    loss = torch.stack(model(x, window=window)).square().sum()
    return list(torch.autograd.grad(loss, [model.w.weight, model.u.weight, model.v.weight]))


def test_two_steps_of_one_unit_by_hand() -> None:
    model = net(1, 1, 1)
    for layer, value in ((model.w, 0.5), (model.u, -2.0), (model.v, 3.0)):
        torch.nn.init.constant_(layer.weight, value)
    outputs = model(torch.tensor([[[1.0], [2.0]]], dtype=torch.float64))
    first = 1 / (1 + math.exp(-0.5))
    second = 1 / (1 + math.exp(-(1.0 - 2 * first)))
    assert [y.item() for y in outputs] == pytest.approx([3 * first, 3 * second], rel=1e-12)


def test_the_start_is_the_state_before_the_first_step() -> None:
    model, x = net(), sequence()
    states = model.unroll(x)
    later = model.unroll(x[:, 2:], start_BH=states[1])
    assert all(torch.equal(a, b) for a, b in zip(later, states[2:], strict=True))


@pytest.mark.parametrize("window", [1, 2, 5, 9])
def test_a_window_changes_no_value(window: int) -> None:
    model, x = net(), sequence()
    assert all(torch.equal(a, b) for a, b in zip(model(x, window=window), model(x), strict=True))


@pytest.mark.parametrize("window", [5, 9])
def test_a_window_as_long_as_the_sequence_cuts_nothing(window: int) -> None:
    model, x = net(), sequence()
    for cut, whole in zip(gradients(model, x, window), gradients(model, x, None), strict=True):
        torch.testing.assert_close(cut, whole, rtol=1e-12, atol=0)


@pytest.mark.parametrize("window", [1, 2, 4])
def test_an_output_depends_on_no_input_before_its_window(window: int) -> None:
    model, x = net(), sequence().requires_grad_()
    (seen,) = torch.autograd.grad(model(x, window=window)[-1].sum(), x)
    assert seen.abs().sum((0, 2)).gt(0).tolist() == [step >= 5 - window for step in range(5)]


def test_a_window_of_nothing_is_refused() -> None:
    with pytest.raises(UserError, match="window 0"):
        net()(sequence(), window=0)
