"""Networks that take longer than --max-ms are left out, by times that a resumed search knows already."""

from types import MethodType, SimpleNamespace
from typing import Any

import pytest

from vitruvius.core.errors import Interrupted, UserError
from vitruvius.core.records import Note
from vitruvius.measuring import prices
from vitruvius.searching import latency
from vitruvius.searching.prepare import PRESET, Prepared
from vitruvius.searching.settings import Config

ALL = [PRESET, 1, 2, 3]


def arch(number: int) -> Any:
    """As much of a network as is looked at."""
    return SimpleNamespace(number=number, kernel=prices.KERNEL)


def search(lines: list[dict[str, Any]], **settings: Any) -> Any:
    """As much of a search with the networks 1, 2, 3 and a preset as is looked at; 3 is the largest."""
    prepared = SimpleNamespace(
        config=Config(**settings),
        name=lambda number: f"net-{number}",
        networks={number: SimpleNamespace(arch=arch(number), params=number) for number in ALL},
        largest=3,
    )
    prepared.keep_only = MethodType(Prepared.keep_only, prepared)
    found = SimpleNamespace(prepared=prepared, lines=list(lines), ms={}, plan=SimpleNamespace(prices=None))
    found.numbers = [1, 2, 3]
    found.folder = SimpleNamespace(keep=lambda record: lines.append(record.line()), folder=SimpleNamespace())
    found.stop = SimpleNamespace(signal=None)
    return found


def said(found: Any) -> list[str]:
    """What is said while the times are found; as in a search, its numbers are those of its networks."""
    heard = []
    for record in latency.keep_fast(found):
        heard += [record.text] if isinstance(record, Note) else []
        found.numbers = [number for number in found.prepared.networks if number != PRESET]
    return heard


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """What a measurement gives; it may be changed."""
    found = {"net--1": 9.0, "net-1": 1.0, "net-2": 2.0, "net-3": 3.0}
    monkeypatch.setattr(latency, "measured", lambda archs: {name: found[name] for name, _ in archs})
    monkeypatch.setattr(prices, "predict", lambda listed, arch: listed[arch.number])
    monkeypatch.setattr(latency, "TOGETHER", 3)
    return found


def test_slow_networks_are_left_out_before_training_and_a_resumed_search_does_not_measure_again(
    times: dict[str, float],
) -> None:
    lines: list[dict[str, Any]] = []
    found = search(lines, max_ms=2)
    assert said(found)[1:] == ["1 of 3 networks take more than 2 ms: left out"]
    # The preset is compared with all the same; its time is known, so that it cannot win.
    assert list(found.prepared.networks) == [PRESET, 1, 2]
    assert (found.prepared.largest, found.ms[PRESET]) == (2, (9.0, True))
    assert len(lines) == 2
    times["net-1"] = 9.0
    resumed = search(lines[:1], max_ms=2)  # killed after the first group
    assert "to be timed: 1 network" in said(resumed)[0]
    assert (resumed.ms, list(resumed.prepared.networks)) == (found.ms, [PRESET, 1, 2])


def test_predicted_times_are_not_measured(times: dict[str, float]) -> None:
    found = search([], max_ms=2)
    found.plan.prices = {1: 5.0, 2: 1.5, 3: 1.0, PRESET: 1.0}
    assert said(found) == ["1 of 3 networks take more than 2 ms: left out"]
    assert found.ms[2] == (1.5, False)
    assert found.prepared.largest == 3


def test_without_a_bound_or_a_front_of_times_nothing_is_measured(times: dict[str, float]) -> None:
    found = search([])
    assert not said(found)
    assert not found.ms
    front = search([], front="ms")
    assert len(said(front)) == 1
    assert list(front.ms) == list(front.prepared.networks) == ALL


def test_where_no_network_is_fast_enough_the_fastest_is_named(times: dict[str, float]) -> None:
    with pytest.raises(UserError, match="the fastest of 3 networks takes 1 ms"):
        said(search([], max_ms=0.5))


def test_measuring_can_be_stopped(times: dict[str, float]) -> None:
    found = search([], max_ms=2)
    found.stop.signal, found.folder.folder.name = 2, "shoes"
    with pytest.raises(Interrupted, match="--resume shoes"):
        said(found)
