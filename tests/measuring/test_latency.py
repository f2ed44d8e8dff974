"""Calls are timed in random order, all equally often; peak memory agrees with the closed form."""

from functools import partial
from typing import Any

import pytest
import torch

from vitruvius.arch import cost
from vitruvius.arch.arch import Arch
from vitruvius.arch.tables import Named
from vitruvius.measuring import latency, networks
from vitruvius.measuring.settings import MeasureSettings
from vitruvius.nn import vit
from vitruvius.training import device as devices

SMALL = Named("small", Arch(depth=1, width=16, heads=2, mlp=16))
LARGE = Named("large", Arch(depth=2, width=64, heads=2, mlp=128))


def measured(chosen: list[Named], **options: Any) -> list[latency.Item]:
    items: list[latency.Item] = []
    settings = MeasureSettings(**{"repeats": 6, "batch": (2,), **options})
    for _ in latency.measure(chosen, settings, torch.device("cpu"), items):
        pass
    return items


def test_networks_are_interleaved_in_a_random_order(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    def noted(item: latency.Item, *rest: Any, real: Any = latency._time) -> None:
        order.append(f"{item.named.name} {item.batch}")
        real(item, *rest)

    monkeypatch.setattr(latency, "_time", noted)
    items = measured([SMALL, LARGE], batch=(1, 2))
    assert [len(item.calls_ms) for item in items] == [6] * 4
    rounds = [tuple(order[at : at + 4]) for at in range(0, 24, 4)]
    assert all(len(set(names)) == 4 for names in rounds)
    assert len(set(rounds)) > 2
    row = items[0].row(is_busy=False)
    assert row.low_ms is not None
    assert row.high_ms is not None
    assert row.images_per_second is not None
    assert 0 < row.low_ms <= (row.median_ms or 0) <= row.high_ms
    assert row.images_per_second == pytest.approx(1000 / (row.median_ms or 1))


def test_the_peak_of_a_call_counts_what_is_alive_at_the_same_time() -> None:
    def call() -> None:
        first = torch.empty(1000)
        second = first + 1
        del first
        third = second + 1  # takes the place of the first
        del second, third

    assert 8000 <= latency.allocated_at_once(call) < 8100  # torch keeps a few scalars beside


def test_peak_memory_of_training_is_that_of_the_closed_form() -> None:
    (item,) = measured([LARGE], batch=(64,), training=True, repeats=3)
    assert item.peak_bytes is not None
    assert item.peak_bytes == pytest.approx(cost.cost(LARGE.arch).training_bytes(64), rel=0.3)


@pytest.mark.parametrize("named", [SMALL, LARGE])
def test_a_forward_pass_takes_more_than_its_lower_bound_and_not_much_more(named: Named) -> None:
    (item,) = measured([named], batch=(64,), repeats=1)
    assert item.peak_bytes is not None
    assert 0.3 < networks.inference_bytes(named.arch, 64) / item.peak_bytes <= 1


def test_a_network_that_fails_says_why_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(arch: Arch, seed: int, real: Any = vit.build) -> Any:
        if arch == SMALL.arch:
            raise RuntimeError("not enough memory: you tried to allocate\nmore")
        return real(arch, seed)

    monkeypatch.setattr(latency, "build", broken)
    small, large = measured([SMALL, LARGE])
    assert small.row(False).failed == "not enough memory: you tried to allocate"
    assert small.row(False).median_ms is None
    assert large.failed is None
    assert len(large.calls_ms) == 6


@pytest.mark.slow
def test_every_compiled_network_and_batch_size_is_compiled_however_many_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graphs: list[int] = []

    def backend(graph: Any, inputs: Any, **options: Any) -> Any:
        graphs.append(len(graph.graph.nodes))
        return graph.forward

    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=backend))
    monkeypatch.setattr(devices, "compiler", lambda: "g++")
    sizes = {"image": 8, "patch": 4, "depth": 1, "heads": 1, "mlp": 4}
    several = [Named(f"net{width}", Arch(**sizes, width=width)) for width in range(2, 12, 2)]
    items = measured(several, runtime=("compiled",), batch=(2, 3), repeats=1)
    assert [item.failed for item in items] == [None] * 10
    assert len(graphs) == 10  # torch gives up after eight of one function


@pytest.mark.slow
@pytest.mark.parametrize("training", [False, True])
def test_a_network_is_compiled_and_timed(training: bool) -> None:
    if devices.compiler() is None:
        pytest.skip("no C++ compiler")
    small = Named("small", Arch(image=8, patch=4, width=8, depth=1, heads=2, mlp=8))
    options: Any = {"repeats": 3, "training": training}
    compiled, plain = (measured([small], runtime=(name,), **options)[0] for name in ("compiled", "torch"))
    assert compiled.failed is None
    assert len(compiled.calls_ms) == 3
    assert (compiled.startup_ms or 0) > (plain.startup_ms or 0)
    assert compiled.peak_bytes is not None
