"""The table of (batch, steps) for a watched network."""

import random
from copy import deepcopy
from typing import Any

import pytest
import torch
from torch import nn

import vitruvius
from vitruvius.doctor.accumulation import cuts
from vitruvius.doctor.results import AccumulationTable


def table(model: nn.Module, x: Any, resting: bool = False) -> AccumulationTable:
    """The table of a network that was trained for two steps, in training mode or with its norms at rest."""
    with vitruvius.watch(table=True) as report:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(2):
            model.train(not resting)
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
        model.eval()
    (found,) = report.result.tables or ()
    return found


def convolutional(norm: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 4, 3), norm, nn.ReLU(), nn.Dropout(0.5), nn.Flatten(), nn.Linear(64, 3))


def test_batch_norm_differs_in_all_parts_and_group_norm_in_none() -> None:
    x = torch.randn(32, 1, 6, 6)
    sick, healthy = table(convolutional(nn.BatchNorm2d(4)), x), table(convolutional(nn.GroupNorm(2, 4)), x)
    pairs = [(32, 1), (16, 2), (8, 4), (4, 8), (2, 16), (1, 32)]
    assert [(row.batch, row.steps) for row in sick.rows] == pairs
    assert [(row.batch, row.steps) for row in healthy.rows] == pairs
    assert (sick.modules, healthy.modules) == (("1",), ())
    whole = sick.rows[0]
    assert (whole.logits, whole.gradient, whole.failed) == (0, 0, None)
    assert all(row.logits > 1e-2 and row.gradient > 1e-2 for row in sick.rows[1:])  # type: ignore[operator]
    assert all(row.logits < 1e-5 and row.gradient < 1e-5 for row in healthy.rows)  # type: ignore[operator]


def test_norms_that_rested_while_training_rest_in_the_table() -> None:
    found = table(convolutional(nn.BatchNorm2d(4)), torch.randn(8, 1, 6, 6), resting=True)
    assert found.modules == ()
    assert max(row.gradient or 0 for row in found.rows) < 1e-5


def test_a_part_that_batch_norm_refuses_is_said() -> None:
    found = table(nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)), torch.randn(12, 3))
    assert [row.batch for row in found.rows] == cuts(12) == [12, 4, 2, 1]
    assert found.rows[-1].gradient is None
    assert "more than 1 value per channel" in str(found.rows[-1].failed)


class Awkward(nn.Module):
    """Returns what it is told to make of its output."""

    def __init__(self, last: Any) -> None:
        super().__init__()
        self.inner, self.last = nn.Linear(3, 2), last

    def forward(self, x: torch.Tensor) -> Any:
        return self.last(self.inner(x))


@pytest.mark.parametrize(
    ("last", "why"),
    [
        (torch.sum, "0-d tensor"),
        (lambda y: y[:5], "8 rows go in and 5 come out"),
        (nn.functional.dropout, "another"),
    ],
)
def test_a_network_that_cannot_be_cut_is_said_so(last: Any, why: str) -> None:
    found = table(Awkward(last), torch.randn(8, 3))
    assert why in str(found.failed)
    assert found.rows == ()


def test_model_buffers_gradients_and_chance_stay_as_they_are() -> None:
    def trained(asked: bool) -> tuple[Any, ...]:
        torch.manual_seed(0)
        random.seed(0)
        model, x = convolutional(nn.BatchNorm2d(4)), torch.randn(8, 1, 6, 6)
        with vitruvius.watch(table=asked) as report:
            model(x).square().mean().backward()
        assert bool(report.result.tables) == asked
        gradients = [weight.grad for weight in model.parameters()]
        modes = [module.training for module in model.modules()]
        return (
            [*deepcopy(model.state_dict()).values(), *gradients, torch.get_rng_state()],
            modes,
            random.getstate(),
        )

    (tensors, *rest), (others, *same) = trained(False), trained(True)
    assert all(torch.equal(a, b) for a, b in zip(tensors, others, strict=True))
    assert rest == same
