"""The watcher: events have the facts of the moment, also in loops that nest passes and steps."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules import module as modules
from torch.utils.data import DataLoader, TensorDataset

from vitruvius.checks import (
    Backward,
    Clip,
    Criterion,
    Forward,
    NanSource,
    NonFinite,
    OptimiserBuilt,
    Prediction,
    Step,
    Trace,
)
from vitruvius.doctor import watcher as watching
from vitruvius.doctor.forward_passes import FIRST_STEPS
from vitruvius.doctor.hooks import installed
from vitruvius.doctor.watcher import Watcher
from vitruvius.doctor.windows import PERIOD, WHOLE, WINDOW, is_sampled


def watched(train: Any) -> Trace:
    watcher = Watcher()
    with torch.random.fork_rng(devices=[]), installed(watcher):
        train()
    return watcher.finish()


def test_a_network_that_runs_in_the_backward_pass_does_not_hide_that_pass() -> None:
    def train() -> None:
        net, other = nn.Linear(3, 1), nn.Linear(3, 1)
        optimiser = torch.optim.SGD(net.parameters(), lr=0.1)
        scores = net(torch.randn(4, 3))
        scores.register_hook(lambda gradient: other(torch.ones(1, 3)) * 0 + gradient)
        scores.mean().backward()
        optimiser.step()

    trace = watched(train)
    (step,), (backward,) = trace.of(Step), trace.of(Backward)
    assert [(w.operation, w.where) for w in step.waiting] == [("MeanBackward0", backward.where)]
    assert trace.events.index(backward) < trace.events.index(trace.of(Forward)[-1])


def test_a_step_inside_a_step_takes_the_facts_of_its_own() -> None:
    class Wrapper(torch.optim.Optimizer):
        def __init__(self, inner: torch.optim.Optimizer) -> None:
            self.inner = inner
            super().__init__(inner.param_groups, {})

        def step(self, closure: Any = None) -> None:  # type: ignore[override]
            self.inner.step()

    def train() -> None:
        net = nn.Linear(3, 1)
        optimiser = Wrapper(torch.optim.SGD(net.parameters(), lr=0.1))
        net(torch.randn(4, 3)).mean().backward()
        optimiser.step()

    inner, outer = watched(train).of(Step)
    assert (inner.name, len(inner.waiting), inner.step) == ("SGD", 1, 0)
    assert (outer.name, outer.waiting, outer.step) == ("Wrapper", (), 1)


def test_a_key_names_the_same_parameter_in_all_events() -> None:
    def train() -> None:
        net = nn.Linear(3, 1)
        optimiser = torch.optim.SGD(net.parameters(), lr=0.1)
        net(torch.randn(4, 3)).mean().backward()
        optimiser.step()

    trace = watched(train)
    (built,), (step,) = trace.of(OptimiserBuilt), trace.of(Step)
    assert built.parameters == step.parameters
    assert [trace.parameters[key].name for key in built.parameters] == ["weight", "bias"]
    assert [graph.leaves for _, graph in trace.graphs()] == [set(built.parameters)]


STEPS = 2 * PERIOD + WHOLE
IN_WINDOWS = [step for step in range(WHOLE, STEPS) if (step + 1) % PERIOD < WINDOW]


def train_long(
    loss: Callable[[int, Tensor], Tensor] = lambda step, x: x.square().mean(), late: Any = None
) -> None:
    net = nn.Linear(3, 1)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(STEPS):
        optimiser.zero_grad()
        loss(step, net(torch.randn(4, 3))).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()
        if late is not None:
            late(step, net)


def test_after_the_first_steps_some_in_a_row_are_watched_and_each_is_seen_whole() -> None:
    trace = watched(train_long)
    steps = trace.of(Step)
    assert [event.step for event in steps] == [*range(WHOLE), *IN_WINDOWS]
    assert (trace.steps, trace.watched) == (STEPS, len(steps))
    for kind in (Forward, Backward, Clip):
        assert [event.step for event in trace.of(kind)] == [event.step for event in steps]
    assert all(len(event.waiting) == 1 and not event.stale and not event.repeated for event in steps)
    assert not any(event.useless for event in trace.of(Clip))
    assert [event.step for event in steps if event.update_ratios][-2:] == [PERIOD, 2 * PERIOD]
    assert [event.step for event in trace.unbroken().of(Step)] == list(range(WHOLE))


def test_a_step_is_left_out_if_only_its_end_was_watched() -> None:
    """Two networks learn by one backward pass: windows open after the first one's step."""

    def train() -> None:
        nets = nn.Linear(3, 1), nn.Linear(3, 1)
        optimisers = [torch.optim.SGD(net.parameters(), lr=0.01) for net in nets]
        for _ in range(STEPS):
            for optimiser in optimisers:
                optimiser.zero_grad()
            x = torch.randn(4, 3)
            (nets[0](x) + nets[1](x)).square().mean().backward()
            for optimiser in optimisers:
                optimiser.step()

    steps = watched(train).of(Step)
    assert len(steps) < STEPS
    assert {len(event.waiting) for event in steps} == {1}
    assert not any(event.repeated or event.stale for event in steps)


def test_updates_by_hand_are_watched_in_windows_too() -> None:
    def train() -> None:
        net = nn.Linear(3, 1)
        for _ in range(STEPS):
            net(torch.randn(4, 3)).square().mean().backward()
            for parameter in net.parameters():
                assert parameter.grad is not None
                parameter.data -= 0.01 * parameter.grad
                parameter.grad = None

    trace = watched(train)
    assert len(trace.of(Backward)) == len(trace.of(Forward)) == WHOLE + 2 * WINDOW


def test_graphs_of_passes_are_looked_after_in_the_first_steps_by_hand_too() -> None:
    net, watcher = nn.Linear(3, 1), Watcher()
    with torch.random.fork_rng(devices=[]), installed(watcher):
        for _ in range(2 * FIRST_STEPS):
            net(torch.randn(4, 3)).square().mean().backward()
    assert list(watcher.graphs.counts.values()) == [FIRST_STEPS]


@pytest.mark.parametrize("backward", [False, True], ids=["in the loss", "in the gradient"])
def test_nan_between_two_windows_is_blamed_on_the_operation_that_makes_it(backward: bool) -> None:
    late = WHOLE + 20
    assert late not in IN_WINDOWS

    def loss(step: int, x: Tensor) -> Tensor:
        if step < late:
            return x.square().mean()
        return (x * 0).sqrt().sum() if backward else (x.square().mean() * 0).log().mean() * 0

    trace = watched(lambda: train_long(loss))
    (source,) = trace.of(NanSource)
    assert (source.step, source.operation, source.backward) == (late, "sqrt" if backward else "log", backward)
    assert [event.step for event in trace.of(NonFinite)] == [late + 1 if backward else late]


def test_evaluations_between_two_windows_are_looked_at_if_they_are_rare() -> None:
    def evaluates(every: int) -> Trace:
        def evaluate(step: int, net: nn.Module) -> None:
            if step % every == every - 1:
                with torch.no_grad():
                    F.mse_loss(net(torch.randn(9, 3)), torch.zeros(9, 1))

        return watched(lambda: train_long(late=evaluate))

    rare, each = evaluates(50), evaluates(1)
    evaluations = [*range(50, STEPS + 1, 50)]
    assert [event.step for event in rare.of(Forward) if not event.grad] == evaluations
    assert [event.step for event in rare.of(Criterion) if not event.grad] == evaluations
    unwatched = [event.step for event in each.of(Forward) if not event.grad and event.step > WHOLE]
    assert len(unwatched) <= 2 * WINDOW + 1


def test_an_evaluation_between_two_windows_is_looked_at_up_to_a_number_of_passes() -> None:
    def evaluate(step: int, net: nn.Module) -> None:
        if step == WHOLE + 30:
            with torch.no_grad():
                for _ in range(2 * watching.MOST_PASSES):
                    net(torch.randn(9, 3))

    found = [event for event in watched(lambda: train_long(late=evaluate)).of(Forward) if not event.grad]
    assert len(found) == watching.MOST_PASSES


@pytest.mark.parametrize("method", ["argmax", "max"])
def test_predictions_between_two_windows_are_seen(method: str) -> None:
    def train() -> None:
        net = nn.Linear(3, 4)
        optimiser = torch.optim.SGD(net.parameters(), lr=0.01)
        for step in range(STEPS):
            optimiser.zero_grad()
            F.cross_entropy(net(torch.randn(6, 3)), torch.arange(6) % 4).backward()
            optimiser.step()
            if step == WHOLE + 30:
                with torch.no_grad():
                    getattr(net(torch.randn(9, 3)), method)(0)

    predictions = [(event.step, event.axis, event.scores) for event in watched(train).of(Prediction)]
    assert predictions == [(WHOLE + 31, 0, (9, 4))]


def test_a_training_that_begins_later_is_watched_from_its_beginning() -> None:
    def twice() -> None:
        train_long()
        train_long()

    steps = {event.step for event in watched(twice).of(Step)}
    assert set(range(STEPS, STEPS + WHOLE)) <= steps


def test_a_long_first_epoch_is_watched_whole_and_the_beginning_of_the_second() -> None:
    batches = WHOLE + 50

    def train() -> None:
        net = nn.Linear(3, 1)
        optimiser = torch.optim.SGD(net.parameters(), lr=0.01)
        loader = DataLoader(TensorDataset(torch.randn(4 * batches, 3)), batch_size=4)
        for _ in range(2):
            for (x,) in loader:
                optimiser.zero_grad()
                net(x).square().mean().backward()
                optimiser.step()

    gap = watched(train).unbroken().of(Step)[-1].step
    assert batches < gap < batches + 20


@pytest.mark.parametrize("fresh", [False, True], ids=["all rows seen", "new rows in every batch"])
def test_trained_rows_are_told_later_only_if_all_of_them_were_seen(fresh: bool) -> None:
    rows = torch.randn(64, 8)

    def train() -> None:
        net = nn.Linear(8, 1)
        optimiser = torch.optim.SGD(net.parameters(), lr=0.01)
        for step in range(STEPS):
            x = torch.randn(16, 8) if fresh and step > 4 else rows[torch.randperm(64)[:16]]
            optimiser.zero_grad()
            net(x).square().mean().backward()
            optimiser.step()
        with torch.no_grad():
            net(rows)

    *_, last = watched(train).of(Forward)
    assert (last.rows, last.trained_rows) == (64, 0 if fresh else 64)


def test_watching_in_windows_changes_no_bit() -> None:
    def weights() -> list[Tensor]:
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.2), nn.ReLU(), nn.Linear(4, 1))
        optimiser = torch.optim.Adam(net.parameters(), lr=0.01)
        for _ in range(STEPS):
            optimiser.zero_grad()
            net(torch.randn(4, 3)).square().mean().backward()
            optimiser.step()
        return list(net.parameters())

    with torch.random.fork_rng(devices=[]):
        alone = weights()
        with installed(Watcher()):
            seen = weights()
    assert all(torch.equal(a, b) for a, b in zip(alone, seen, strict=True))


def test_between_two_windows_modules_tensors_losses_and_optimisers_have_no_hooks() -> None:
    hooked: dict[int, set[bool]] = {}
    sampled: list[int] = []
    loss, zero = F.mse_loss.__code__, torch.optim.Optimizer.zero_grad

    def look(step: int, net: nn.Module) -> None:
        sampled.extend([step + 1] if "__add__" in vars(Tensor) else [])
        hooked[step + 1] = {
            bool(modules._global_forward_hooks),
            "item" in vars(Tensor),
            F.mse_loss.__code__ is not loss,
            torch.optim.Optimizer.zero_grad is not zero,
        }

    trace = watched(lambda: train_long(late=look))
    seen = {event.step for event in trace.of(Step)}
    assert {step for step, found in hooked.items() if found == {True}} == seen & set(hooked)
    assert [found for step, found in hooked.items() if step not in seen and found != {False}] == []
    assert sampled == [step for step in sorted(seen) if is_sampled(step)][1:]


def test_an_optimiser_that_is_built_between_two_windows_is_watched_at_once() -> None:
    def train() -> None:
        net = nn.Linear(3, 1)
        for _ in range(WHOLE + 20):
            net(torch.randn(4, 3)).square().mean().backward()
        train_long()

    assert [event.step for event in watched(train).of(Step)][:WHOLE] == [*range(WHOLE)]


def test_what_a_step_moves_is_known_of_optimisers_that_live_for_a_few_steps() -> None:
    """Each task has a network and an optimiser of its own, as in meta-learning."""

    def train() -> None:
        for _ in range(STEPS // 8):
            net = nn.Linear(3, 1)
            optimiser = torch.optim.SGD(net.parameters(), lr=0.01)
            for _ in range(8):
                optimiser.zero_grad()
                net(torch.randn(4, 3)).square().mean().backward()
                optimiser.step()

    trace = watched(train)
    stepped = {key for event in trace.of(Step) for key in event.parameters}
    assert trace.watched < trace.steps
    assert all(trace.parameters[key].reached for key in stepped)
