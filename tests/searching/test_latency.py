"""Networks that take longer than --max-ms are left out, by times that a resumed search knows already."""

from types import SimpleNamespace
from typing import Any

import pytest

from vitruvius.core.errors import WorkFailed
from vitruvius.searching import latency
from vitruvius.searching.settings import Config


def search(lines: list[dict[str, Any]], **settings: Any) -> Any:
    """As much of a search with the networks 1, 2 and 3 as is looked at."""
    prepared = SimpleNamespace(
        config=Config(**settings),
        name=lambda number: f"net-{number}",
        networks={number: SimpleNamespace(arch=number) for number in (1, 2, 3)},
    )
    folder = SimpleNamespace(keep=lambda record: lines.append(record.line()))
    return SimpleNamespace(prepared=prepared, folder=folder, lines=list(lines), ms={})


def finalists(found: Any) -> tuple[list[int], list[str]]:
    """The finalists that stay, and what is said."""
    said, stages = [], latency.fast_enough(found, [3, 1, 2])
    while True:
        try:
            said.append(next(stages).text)  # type: ignore[attr-defined]
        except StopIteration as end:
            return end.value, said


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """What a measurement gives; it may be changed."""
    found = {"net-1": 1.0, "net-2": 2.0, "net-3": 3.0}
    monkeypatch.setattr(latency, "measured", lambda archs: {name: found[name] for name, _ in archs})
    return found


def test_slow_finalists_are_left_out_and_a_resumed_search_does_not_measure_again(
    times: dict[str, float],
) -> None:
    lines: list[dict[str, Any]] = []
    assert finalists(search(lines, max_ms=2)) == ([1, 2], ["net-3 takes 3 ms, more than 2: left out"])
    times["net-1"] = 9.0
    resumed = search(lines, max_ms=2)
    assert finalists(resumed)[0] == [1, 2]
    assert resumed.ms == {1: (1.0, True), 2: (2.0, True), 3: (3.0, True)}
    assert len(lines) == 1


def test_predicted_times_are_not_measured(times: dict[str, float]) -> None:
    found = search([], max_ms=2)
    found.ms = {1: (5.0, False)}
    assert finalists(found)[0] == [2]
    assert found.ms[1] == (5.0, False)


def test_without_a_bound_or_a_front_of_times_nothing_is_measured(times: dict[str, float]) -> None:
    found = search([])
    assert finalists(found) == ([3, 1, 2], [])
    assert not found.ms
    assert finalists(front := search([], front="ms")) == ([3, 1, 2], [])
    assert len(front.ms) == 3


def test_where_no_finalist_is_fast_enough_the_fastest_is_named(times: dict[str, float]) -> None:
    with pytest.raises(WorkFailed, match="the fastest finalist takes 1 ms"):
        finalists(search([], max_ms=0.5))
