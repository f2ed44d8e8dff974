"""Networks that follow one another: only what is needed at the end is held."""

import gc
import weakref

import pytest
import torch
from torch import nn

from vitruvius.checks import OptimiserBuilt, Trace
from vitruvius.doctor import diagnose, networks
from vitruvius.doctor.hooks import installed
from vitruvius.doctor.watcher import Watcher


def train(
    count: int,
) -> tuple[Watcher, list["weakref.ref[nn.Sequential]"], list["weakref.ref[torch.optim.Adam]"]]:
    watcher, nets, optimisers = Watcher(), [], []
    with installed(watcher):
        for _ in range(count):
            net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
            optimiser = torch.optim.Adam(net.parameters(), lr=0.01)
            for _ in range(3):
                optimiser.zero_grad()
                net(torch.randn(8, 4)).square().mean().backward()
                optimiser.step()
            nets.append(weakref.ref(net))
            optimisers.append(weakref.ref(optimiser))
        del net, optimiser
    gc.collect()
    return watcher, nets, optimisers


def test_of_forty_large_networks_the_first_and_the_last_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks, "HELD_BYTES", 0)
    watcher, nets, optimisers = train(40)
    assert [index for index, net in enumerate(nets) if net() is not None] == [0, 39]
    assert [optimiser() for optimiser in optimisers[:-1]] == [None] * 39
    trace = watcher.finish()
    assert len(trace.examples) == 2
    assert diagnose.examine(trace).findings == ()


def test_small_networks_are_all_held_for_experiments() -> None:
    watcher, nets, optimisers = train(5)
    assert all(net() is not None for net in nets)
    assert len(watcher.finish().examples) == 5


def keys(trace: Trace) -> list[int]:
    return [key for event in trace.of(OptimiserBuilt) for key in event.parameters]


def test_a_key_is_never_given_twice_though_addresses_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks, "HELD_BYTES", 0)
    watcher, _, _ = train(40)
    assert len(keys(watcher.trace)) == len(set(keys(watcher.trace))) == 160
