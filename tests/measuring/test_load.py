"""What others use of the processor is what all use less what this process does."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from vitruvius.measuring import load


def stat(path: Path, busy: float, idle: float = 50.0) -> Path:
    """A /proc/stat with so many busy and idle seconds, half of the busy ones stolen by other machines."""
    ticks = os.sysconf("SC_CLK_TCK")
    half = round(busy / 2 * ticks)
    path.write_text(f"cpu {half} 0 0 {round(idle * ticks)} 7 0 0 {half} {half} 0\ncpu0 1 2 3\n")
    return path


def test_cores_of_others_are_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = {"time": 100.0, "own": 3.0}
    monkeypatch.setattr(time, "monotonic", lambda: now["time"])
    monkeypatch.setattr(os, "times", lambda: (now["own"], 0.0, 0.0, 0.0, 1e9))
    others = load.Others(stat(tmp_path / "stat", busy=20))
    now |= {"time": 110.0, "own": 11.0}
    stat(tmp_path / "stat", busy=40, idle=90)
    assert others.cores() == pytest.approx((20 - 8) / 10)
    now["own"] = 33.0  # the counters have a coarse grain: never below 0
    assert others.cores() == 0.0


@pytest.mark.parametrize("content", [None, "", "cpu\n", "cpu a b c d e\n"])
def test_without_the_counters_nothing_is_said(tmp_path: Path, content: Any) -> None:
    if content is not None:
        (tmp_path / "stat").write_text(content)
    others = load.Others(tmp_path / "stat")
    assert others.cores() is None


def test_half_a_process_is_busy() -> None:
    assert not load.is_busy(None, None)
    assert not load.is_busy(0.4, 0.3)
    assert load.is_busy(0.5)
    assert load.is_busy(None, 0.5)
