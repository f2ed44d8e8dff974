"""Honest requests are all answered, and attacks refused, while both come at once."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from benchmarks import under_attack
from benchmarks.under_attack import Target
from vitruvius.web import security, server

ROUNDS, SLOW = 1, 60


def visited(runs: Path) -> tuple[set[int], Counter[int]]:
    """The statuses that honest requests and attackers saw at a server of this process."""
    with server.serving(server.open_port("127.0.0.1", 0), "127.0.0.1", runs) as door:
        found, seen = asyncio.run(under_attack.visit(Target(door.port, door.token), ROUNDS, SLOW))
    assert len(found) == ROUNDS * len(Target(0, "").honest())
    return {int(one["status"]) for one in found}, seen


def test_honest_requests_are_answered_while_others_attack(tmp_path: Path) -> None:
    honest, seen = visited(tmp_path)
    assert honest == {200}
    assert {401, 403, 404, 405, 413} <= set(seen)
    assert under_attack.let_in(seen) == {}


def test_a_server_with_fewer_places_than_attackers_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "REQUESTS", SLOW // 3)
    assert visited(tmp_path)[0] != {200}


def test_a_server_that_lets_strangers_in_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "refuse_strangers", lambda *_: None)
    assert 200 in under_attack.let_in(visited(tmp_path)[1])
