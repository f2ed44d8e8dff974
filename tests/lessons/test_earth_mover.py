"""The earth mover's distance against enumeration, and against the formula for points on a line."""

from fractions import Fraction
from itertools import permutations
from math import dist
from typing import Any

import pytest
from scipy.stats import wasserstein_distance

from tests.lessons.solving import answer_of, work
from vitruvius.core.errors import UserError
from vitruvius.lessons.earth_mover import Question

answer = answer_of("earth_mover")


def least_work(supply: list[Any], demand: list[Any]) -> float:
    """The best of all ways to pair single units of mass."""
    sources = [place for place, mass in supply for _ in range(mass)]
    sinks = [place for place, mass in demand for _ in range(mass)]
    few, many, turn = (sources, sinks, 1) if len(sources) <= len(sinks) else (sinks, sources, -1)
    ways = permutations(many, len(few))
    return min(sum(dist(*(a, b)[::turn]) for a, b in zip(few, chosen, strict=True)) for chosen in ways)


def test_the_default_is_one_where_greed_is_not_best() -> None:
    supply = [((0, 0), 3), ((4, 0), 3), ((12, 9), 2)]
    demand = [((4, 3), 3), ((12, 0), 3), ((0, 9), 2)]
    steps, found = work("earth_mover")
    assert found["work"] == 55 == round(least_work(supply, demand), 9)
    assert found["distance"] == Fraction(55, 8)
    assert found["plan"] == [[1, 0, 2], [2, 1, 0], [0, 2, 0]]
    assert "57" in steps[1].says  # the greedy plan
    assert "saves 2 per unit" in steps[2].says


def test_on_a_line_the_distance_is_the_area_between_the_cumulative_masses() -> None:
    supply, demand = [[0, 3], [4, 2]], [[3, 2], [7, 3]]
    found = answer(supply=supply, demand=demand)
    # Cumulative surplus 3 on 0..3, 1 on 3..4, 3 on 4..7.
    assert found["work"] == 3 * 3 + 1 * 1 + 3 * 3
    assert float(found["distance"]) == pytest.approx(wasserstein_distance([0, 4], [3, 7], [3, 2], [2, 3]))


def test_fractions_stay_fractions() -> None:
    found = answer(supply=[[0, "1/2"], ["1/3", "1/2"]], demand=[[1, 1]])
    assert (found["work"], found["plan"]) == (Fraction(5, 6), [[Fraction(1, 2)], [Fraction(1, 2)]])


def test_roots_are_written_as_roots() -> None:
    steps, _ = work("earth_mover", supply=[[[0, 0], 1]], demand=[[[1, 1], 1]])
    assert r"\sqrt{2}" in steps[0].formula


@pytest.mark.parametrize("sides", [("supply", "demand"), ("demand", "supply")])
def test_partial_transport_moves_the_smaller_mass(sides: tuple[str, str]) -> None:
    large, small = [[(0, 0), 2], [(5, 0), 2]], [[(1, 0), 1], [(6, 1), 1]]
    found = answer(**{sides[0]: large, sides[1]: small}, partial=True)
    assert found["work"] == pytest.approx(least_work(large, small))
    assert sum(map(sum, found["plan"])) == 2
    assert all(price <= 0 for price in found["potentials"][sides[0]])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"demand": [[[0, 0], 9]]}, "supply has mass 8, demand 9: both need the same, or partial=true"),
        ({"supply": [[0, 8]]}, r"points of \[1, 2\] coordinates"),
        ({"supply": [[[0, 0], 0]]}, "supply has a mass of 0: every mass must be above 0"),
        ({"supply": []}, "supply has 0 entries: it needs S from 1 to 16"),
        ({"supply": [[0, 1]] * 17}, "supply has 17 entries"),
    ],
)
def test_bad_piles_are_named(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Question(**fields)


@pytest.mark.slow
def test_random_piles_agree_with_an_optimal_transport_library() -> None:
    import numpy as np
    import ot

    dice = np.random.default_rng(0)
    for _ in range(50):
        a, b = dice.integers(-9, 9, (5, 2)), dice.integers(-9, 9, (4, 2))
        supply = [[place.tolist(), 4] for place in a]
        demand = [[place.tolist(), 5] for place in b]
        expected = ot.emd2(np.full(5, 4.0), np.full(4, 5.0), ot.dist(a, b, metric="euclidean"))
        assert float(answer(supply=supply, demand=demand)["work"]) == pytest.approx(expected)
