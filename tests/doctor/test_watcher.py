"""The watcher: events have the facts of the moment, also in loops that nest passes and steps."""

from typing import Any

import torch
from torch import nn

from vitruvius.checks import Backward, Forward, OptimiserBuilt, Step, Trace
from vitruvius.doctor.hooks import installed
from vitruvius.doctor.watcher import Watcher


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
