"""A plan never costs more than it may, and uses what it has."""

import pytest

from vitruvius.core.errors import UserError
from vitruvius.searching import plan


@pytest.mark.parametrize("trainings", [2, 3, 4, 7, 10, 14, 20, 50, 333])
@pytest.mark.parametrize("steps", [1, 2, 9, 1000])
@pytest.mark.parametrize("front", [False, True])
def test_the_cost_of_a_plan_counted_step_by_step(trainings: int, steps: int, front: bool) -> None:
    made = plan.make(trainings, steps, 10**6, front)
    done: dict[int, int] = {}
    for rung in made.rungs:
        for network in range(rung.networks):
            done[network] = rung.steps
    counts = [rung.networks for rung in made.rungs]
    total = sum(done.values())
    for network in range(made.finalists):
        total += steps - done.get(network, 0) + (plan.SEEDS - 1) * steps
    assert total + plan.SEEDS * made.baselines * steps == made.total_steps <= trainings * steps
    assert counts == sorted(counts, reverse=True)
    assert not front or not counts or made.finalists >= 2


def test_a_front_has_four_finalists_unless_they_would_leave_nothing_to_choose_from() -> None:
    plans = [plan.make(trainings, 800, 10**6, front=True) for trainings in (7, 12, 20, 50)]
    assert [(made.short, made.finalists) for made in plans] == [(10, 2), (23, 2), (37, 4), (143, 8)]


def test_few_networks_are_all_trained() -> None:
    made = plan.make(100, 800, 6)
    assert made.rungs[0].networks == 6
    assert plan.make(2, 800, 6).finalists == 1


def test_less_than_two_trainings_are_no_search() -> None:
    with pytest.raises(UserError, match=r"no time left: the budget pays for 1.3 trainings"):
        plan.make(1.3, 800, 6)
