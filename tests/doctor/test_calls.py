"""Watched calls of torch's functions: what is noted, what is held, and that torch is given back as it was."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vitruvius.checks import NanSource
from vitruvius.doctor import masks, origins, targets
from vitruvius.doctor.calls import replacements
from vitruvius.doctor.hazards import MOST_CALLS, Hazard, Hazards
from vitruvius.doctor.hooks import installed
from vitruvius.doctor.watcher import Watcher


def test_torch_is_given_back_as_it_was() -> None:
    before = {(owner, name): vars(owner).get(name) for owner, name, _ in replacements()}
    with installed(Watcher()), installed(Watcher()):
        assert torch.Tensor.view is not before[torch.Tensor, "view"]
    assert {key: vars(key[0]).get(key[1]) for key in before} == before


def test_the_line_that_made_a_tensor_is_found_behind_reshapes() -> None:
    net, watcher = nn.Sequential(nn.Linear(3, 4), nn.ReLU()), Watcher()
    with installed(watcher):
        scores = net(torch.randn(2, 3)).view(4, 2).transpose(0, 1).unsqueeze(0)
    origin = origins.of(origins.behind_reshapes(scores.grad_fn))
    assert origin is not None
    assert (origin.operation, origin.module and origin.module()) == ("relu", net[1])
    assert origin.where.rpartition(":")[0] == __file__


def test_nothing_is_held_after_the_backward_pass_and_never_more_than_a_bound() -> None:
    watcher, net = Watcher(), nn.Linear(3, 1)
    with installed(watcher):
        (net(torch.rand(4, 3)).exp() / 2).mean().backward()
        assert not watcher.hazards.calls
        for _ in range(MOST_CALLS + 9):
            net(torch.rand(4, 3)).exp()
    assert len(watcher.hazards.calls) == MOST_CALLS
    assert watcher.hazards.numbers == sum(call.size() for call in watcher.hazards.calls)


def test_calls_without_gradients_are_looked_at_and_not_held() -> None:
    hazards = Hazards()
    zeros = torch.zeros(3)
    hazards.add(Hazard("log", "a.py:1", None, (zeros,), zeros.log()))
    assert not hazards.found  # minus infinity may be meant
    hazards.add(Hazard("truediv", "a.py:2", None, (zeros, zeros), zeros / zeros))
    hazards.add(Hazard("sqrt", "a.py:3", None, (zeros / zeros,), zeros / zeros))
    assert [source.hazard.where for source in hazards.found] == ["a.py:2"]
    assert not hazards.calls


@pytest.mark.parametrize(
    ("operation", "given", "other"),
    [
        ("sqrt", [0.0, 4.0], None),
        ("log", [0.0, 1.0], None),
        ("reciprocal", [0.0, 1.0], None),
        ("acos", [1.0, 0.5], None),
        ("pow", [0.0, 1.0], 0.5),
        ("div", [1.0, 1.0], [0.0, 1.0]),
    ],
)
def test_a_singular_point_is_one_where_autograd_gives_no_finite_derivative(
    operation: str, given: list[float], other: Any
) -> None:
    x = torch.tensor(given, requires_grad=True)
    second = torch.tensor(other, requires_grad=True) if isinstance(other, list) else other
    operands = (x,) if second is None else (x, second)
    value = getattr(torch, operation)(*operands)
    hazards = Hazards()
    hazards.add(Hazard(operation, "a.py:1", None, operands, value))
    source = hazards.of_gradient()
    assert source is not None
    assert source.count == 1
    leaves = [o for o in operands if isinstance(o, Tensor)]
    gradients = torch.stack(torch.autograd.grad(value, leaves, torch.zeros_like(value)))
    assert int((~gradients.isfinite()).any(0).sum()) == 1


def test_a_regular_point_is_not_blamed() -> None:
    x = torch.tensor([0.3, 0.5], requires_grad=True)
    hazards = Hazards()
    for operation in ("sqrt", "log", "reciprocal", "acos", "exp"):
        hazards.add(Hazard(operation, "a.py:1", None, (x,), getattr(torch, operation)(x)))
    assert hazards.of_gradient() is None
    assert hazards.of_value() is None


def test_an_overflow_before_is_not_blamed_on_a_softmax() -> None:
    scores = torch.tensor([[torch.inf, 1.0]], requires_grad=True)
    hidden = torch.full((1, 2), -torch.inf, requires_grad=True)
    hazards = Hazards()
    hazards.add(Hazard("softmax", "a.py:1", None, (scores,), scores.softmax(1)))
    assert hazards.of_value() is None
    hazards.add(Hazard("softmax", "a.py:2", None, (hidden,), hidden.softmax(1)))
    source = hazards.of_value()
    assert source is not None
    assert source.hazard.where == "a.py:2"


def test_the_source_is_told_once() -> None:
    watcher, net = Watcher(), nn.Linear(3, 1)
    with installed(watcher):
        optimiser = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            optimiser.zero_grad()
            net(torch.rand(4, 3)).mul(0).log().sum().backward()
            optimiser.step()
    assert [(event.operation, event.backward) for event in watcher.trace.of(NanSource)] == [("log", False)]


def test_masks_are_read_in_both_meanings() -> None:
    causal = torch.ones(4, 4, dtype=torch.bool).triu(1)
    assert not masks.Hidden(causal).anti_causal
    assert masks.Hidden(~causal).anti_causal
    assert masks.Hidden((~causal).expand(2, 3, 4, 4)).anti_causal
    assert not masks.Hidden(torch.zeros(4, 4, dtype=torch.bool)).anti_causal
    assert masks.added(causal.float()).keys is None
    hidden = masks.added(torch.zeros(4, 4).masked_fill(causal, -torch.inf)).keys
    assert hidden is not None
    assert torch.equal(hidden, causal)


def test_padding_is_told_from_tokens() -> None:
    ids = torch.tensor([[3, 4, 5, 0], [6, 0, 0, 0], [1, 2, 0, 0]])
    assert masks.hides_tokens(ids != 0, ids)
    assert not masks.hides_tokens(ids == 0, ids)
    assert not masks.hides_tokens(ids == 0, ids.flip(1))
    full = torch.tensor([[True, True, True], [True, False, False]])
    assert masks.is_emptied(full)
    assert not masks.is_emptied(~full)
    assert not masks.is_emptied(full[1:])
    found = targets.padding(ids, -100)
    assert found is not None
    assert (found.value, found.is_sorted) == (0, False)
    assert targets.padding(ids, 0) is None
    assert targets.padding(ids.flip(1), -100) is None
    assert targets.padding(torch.randint(0, 3, (64, 6)), -100) is None


@pytest.mark.parametrize("by", [0, 1, 2])
def test_the_shift_of_targets_is_counted(by: int) -> None:
    text = torch.arange(60).reshape(4, 15) % 7
    x, y = text[:, :12], text[:, by : by + 12]
    assert targets.shift(y, [x]) == by
    flat = targets.grid(y.flatten(), [x])
    assert flat is not None
    assert torch.equal(flat, y)
    assert targets.shift(torch.zeros(4, 12, dtype=torch.long), [torch.zeros(4, 12, dtype=torch.long)]) is None


def test_a_compiled_function_is_compiled_whole() -> None:
    def loss(x: Tensor) -> Tensor:
        return F.cross_entropy(F.relu(x).sqrt() / 2 + 1, torch.zeros(4, dtype=torch.long))

    x = torch.rand(4, 3)
    with installed(Watcher()):
        compiled = torch.compile(loss, fullgraph=True, backend="eager")(x)
    assert torch.equal(compiled, loss(x))
