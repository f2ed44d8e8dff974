"""Accumulated gradients equal those of the whole batch only where rows are independent."""

from copy import deepcopy

import torch
from torch import Tensor, nn

from vitruvius.nn.accumulation import Accumulate, by_modules, difference, modules_mixing_rows

X = torch.randn(8, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def network(norm: nn.Module) -> nn.Sequential:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(3, 5), nn.Sequential(norm, nn.Tanh()), nn.Linear(5, 2)).double()


def measured(model: nn.Module) -> Accumulate:
    def measure(net: nn.Module, rows: slice) -> tuple[Tensor, Tensor]:
        output = net(X[rows])
        return output, output.square().mean()

    return by_modules(model, measure)


def test_one_part_is_the_plain_gradient() -> None:
    model = network(nn.LayerNorm(5))
    output, gradient = measured(model)([8], [1.0])
    assert torch.equal(output, model(X))
    plain = torch.autograd.grad(model(X).square().mean(), list(model.parameters()))
    assert torch.equal(gradient, torch.cat([part.flatten() for part in plain]))


def test_only_batch_norm_is_off() -> None:
    assert difference(measured(network(nn.LayerNorm(5))), [2] * 4, [1 / 4] * 4) == (0, 0)
    logits, gradient = difference(measured(network(nn.BatchNorm1d(5))), [2] * 4, [1 / 4] * 4)
    assert logits > 0.01
    assert gradient > 0.01


def test_a_loss_that_is_not_divided_is_off_by_its_factor() -> None:
    assert difference(measured(network(nn.LayerNorm(5))), [2] * 4, [1.0] * 4) == (0, 3)


def test_the_guilty_module_is_named_by_its_path() -> None:
    for norm, names in ((nn.BatchNorm1d(5), ["1.0"]), (nn.LayerNorm(5), [])):
        assert modules_mixing_rows(network(norm), 8, lambda net: net(X), 1e-9) == names
    assert modules_mixing_rows(network(nn.BatchNorm1d(5)), 2, lambda net: net(X[:2]), 1e-9) == [
        "1.0"
    ]  # halves of one row


def test_the_network_stays_as_it_is() -> None:
    model = network(nn.BatchNorm1d(5))
    model(X).sum().backward()
    before = deepcopy(model.state_dict())
    gradients = [weight.grad.clone() for weight in model.parameters() if weight.grad is not None]
    difference(measured(model), [4] * 2, [1 / 2] * 2)
    modules_mixing_rows(model, 8, lambda net: net(X), 1e-9)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(
        torch.equal(w.grad, g)
        for w, g in zip(model.parameters(), gradients, strict=True)
        if w.grad is not None
    )
    assert not any(module._forward_hooks for module in model.modules())
