"""Small rounds of every campaign pass, and its planted fault is caught."""

import importlib
import subprocess
import sys

import pytest

from tests.campaigns import CAMPAIGNS, Tally


@pytest.mark.slow
@pytest.mark.parametrize("name", CAMPAIGNS)
def test_a_small_campaign_passes_and_catches_its_planted_fault(name: str) -> None:
    rounds = importlib.import_module(f"tests.campaigns.{name}").SMALL
    # A process of its own: campaigns fork, and change what they import.
    command = [sys.executable, "-m", "tests.campaigns", name, "--rounds", str(rounds)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_tally_passes_only_if_nothing_failed_and_the_planted_fault_was_caught() -> None:
    tally = Tally(planted="nothing")
    tally.count("phase", "fine", 3)
    assert not tally.is_passed
    tally.is_caught = True
    assert tally.is_passed
    assert tally.lines() == ["phase  3 fine", "planted: nothing: caught"]
    tally.fail("phase", "lost", "it is gone")
    assert not tally.is_passed
    assert "FAILED phase: it is gone" in tally.lines()
