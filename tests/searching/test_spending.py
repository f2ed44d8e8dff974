"""What a search pays for, and with what it is compared."""

from types import SimpleNamespace
from typing import Any

import pytest

from vitruvius.searching import plan, spending
from vitruvius.searching.plan import Rung
from vitruvius.searching.prepare import PRESET


def pretended(preset: int, dear: int = 10) -> Any:
    """A search of 20 trainings among networks of 1 to 9 and `dear` multiply-adds, and a preset."""
    macs = {**{number: number + 1 for number in range(9)}, 9: dear, PRESET: preset}
    networks = {number: SimpleNamespace(macs=value) for number, value in macs.items()}
    made = plan.Plan(trainings=20, steps=100, rungs=(), finalists=2, baselines=3)
    numbers = list(range(10))
    prior = {number: abs(number - 9.4) for number in numbers}  # the median is number 5
    prepared = SimpleNamespace(networks=networks, largest=9, plan=made)
    return SimpleNamespace(prepared=prepared, plan=made, numbers=numbers, prior=prior)


def test_a_search_is_compared_with_the_largest_the_preset_and_the_median() -> None:
    names = {"the largest network that fits": 9, "the nearest preset": PRESET, "the median candidate": 5}
    assert spending.comparable(pretended(preset=27)) == names


@pytest.mark.parametrize(("preset", "is_compared"), [(27, True), (28, False), (10**9, False)])
def test_a_preset_that_would_take_more_than_half_of_all_work_is_not_trained(
    preset: int, is_compared: bool
) -> None:
    """Two trainings of at most five times the median of 5.5 multiply-adds are half of 20."""
    found = spending.comparable(pretended(preset))
    assert ("the nearest preset" in found) == is_compared
    assert found["the largest network that fits"] == 9
    assert found["the median candidate"] == 5


def test_the_largest_that_fits_is_compared_whatever_it_takes() -> None:
    assert spending.comparable(pretended(1, dear=10**6))["the largest network that fits"] == 9


def limited(seconds: float) -> Any:
    """The same search limited by time; a step of a network takes a second for each of its multiply-adds."""
    search = pretended(preset=10**9)
    networks = search.prepared.networks
    rungs = (Rung(steps=1, networks=8),)
    search.plan = plan.Plan(trainings=20, steps=2, rungs=rungs, finalists=2, baselines=1)
    search.prepared.config, search.spent = SimpleNamespace(hours=seconds / 3600), 0.0
    search.study = SimpleNamespace(finished=dict)
    search.seconds = lambda work: [float(networks[number].macs * steps) for number, steps in work]
    search.seconds_left = lambda work: sum(search.seconds(work))
    return search


@pytest.mark.parametrize(("seconds", "paid"), [(0, [8]), (40, [8]), (88, [8, 0, 1]), (96, [8, 0, 3])])
def test_a_finalist_that_is_too_dear_keeps_no_cheaper_one_waiting(seconds: float, paid: list[int]) -> None:
    """The largest takes 40 of them, to be compared with; finalists 8, 7, 0, 3, 1 take 36, 32, 4, 16, 8."""
    assert spending.paid_for(limited(seconds), [[]], [8, 7, 0, 3, 1], index=1, least=1) == paid
