"""Networks are drawn by (seed, index) alone, uniformly, within the budget, each once."""

from collections import Counter

import numpy as np
import pytest

from tests.measuring.test_prices import made
from vitruvius.arch import cost
from vitruvius.arch.spaces import Space
from vitruvius.measuring import prices
from vitruvius.searching import sampling
from vitruvius.searching.sampling import Limits, Rule
from vitruvius.searching.settings import Budget

SIZES = {"image": 8, "channels": 1, "classes": 3}
FREE = Limits(Budget())
SPACE = Space(
    choices={"patch": [2, 4, 3], "width": [6, 8], "depth": [1, 2], "heads": [1, 2, 3], "mlp_ratio": [1, 2]},
    per_layer=("heads",),
)
WIDE = Space(
    choices={
        "patch": [2, 4],
        "width": {"first": 8, "last": 128, "step": 8},
        "depth": {"first": 1, "last": 8, "step": 1},
        "heads": [1, 2, 4],
        "head_dim": [4, 8, 16],
        "mlp_ratio": [0.5, 1, 2],
    },
    constraints={"tokens": {"least": 5, "most": 17}, "attention_ratio": {"least": 0.5, "most": 2}},
)


def test_each_sample_depends_on_its_seed_and_index_alone() -> None:
    rule = Rule(SPACE, SIZES, 3)
    whole, part = (sampling._uniform(rule, index) for index in (np.arange(50), np.arange(20, 30)))
    other = sampling._uniform(rule._replace(seed=4), np.arange(50))
    fields = [whole.fields(index) for index in range(50)]
    assert fields[20:30] == [part.fields(index) for index in range(10)]
    assert fields != [other.fields(index) for index in range(50)]


def test_every_network_of_the_space_is_equally_likely() -> None:
    rule = Rule(SPACE, SIZES, 0)
    networks = sampling._uniform(rule, np.arange(8_000))
    drawn = Counter(repr(networks.fields(index)) for index in range(len(networks)))
    count = SPACE.count(8)
    expected = 8_000 / count
    assert len(drawn) == count
    chi2 = sum((found - expected) ** 2 / expected for found in drawn.values())
    assert chi2 < count + 4 * (2 * count) ** 0.5  # four standard deviations above the mean


@pytest.mark.parametrize("law", ["uniform", "log-uniform"])
def test_what_is_drawn_fits_the_budget_and_obeys_the_constraints(law: sampling.Sampling) -> None:
    budget = Budget(max_params=40_000, max_macs=400_000, max_memory=4)
    found = sampling.draw(Rule(WIDE, SIZES, 1, law), Limits(budget, 16), 150, 3000)
    assert len(found.candidates) == 150
    assert found.largest is not None
    assert found.largest.params >= max(one.params for one in found.candidates)
    for one in (*found.candidates, found.largest):
        price = cost.cost(one.arch)
        assert (price.params, price.macs) == (one.params, one.macs)
        assert price.params <= 40_000
        assert price.macs <= 400_000
        assert price.training_bytes(16) <= 4 * 2**20
        assert 5 <= one.arch.tokens <= 17
        assert all(0.5 <= heads * dim / one.arch.width <= 2 for heads, dim, _ in one.arch.layers)
    keys = {sampling.same_function(one.arch) for one in found.candidates}
    assert len(keys) == 150


@pytest.mark.parametrize("law", ["uniform", "log-uniform"])
def test_milliseconds_are_bounded_by_the_price_list(law: sampling.Sampling) -> None:
    listed = made()
    free = sampling.draw(Rule(WIDE, SIZES, 1, law), Limits(Budget(), 1, listed), 60, 500)
    times = sorted(prices.predict(listed, one.arch) for one in free.candidates)
    none = sampling.draw(Rule(WIDE, SIZES, 1, law), Limits(Budget(max_ms=1e-9), 1, listed), 60, 500)
    assert none.largest is None
    assert none.fastest_ms is not None
    assert none.fastest_ms <= times[0]
    limits = Limits(Budget(max_ms=times[len(times) // 2]), 1, listed)
    found = sampling.draw(Rule(WIDE, SIZES, 1, law), limits, 60, 2000)
    assert found.largest is not None
    assert found.fitting < found.tried
    for one in (*found.candidates, found.largest):
        assert prices.predict(listed, one.arch) <= times[len(times) // 2]
    without = sampling.draw(Rule(WIDE, SIZES, 1, law), limits._replace(prices=None), 60, 500)
    assert without.candidates == free.candidates  # nothing is known of their milliseconds


def test_a_small_space_is_drawn_without_repetition_and_to_its_end() -> None:
    found = sampling.draw(Rule(SPACE, SIZES, 0), FREE, 100, 3000)
    assert len(found.candidates) == SPACE.count(8)


def test_log_uniform_sizes_are_spread_over_the_decades() -> None:
    found = sampling.draw(Rule(WIDE, SIZES, 0, "log-uniform"), FREE, 400, 2000).candidates
    sizes = np.log([one.params for one in found])
    assert (sizes < (sizes.min() + sizes.max()) / 2).mean() > 0.35


def test_a_budget_that_nothing_fits_names_the_smallest() -> None:
    found = sampling.draw(Rule(SPACE, SIZES, 0), Limits(Budget(max_params=10), batch=4), 5, 1000)
    assert found.candidates == []
    assert found.largest is None
    drawn = sampling.draw(Rule(SPACE, SIZES, 0), FREE, 10**4, 1000).candidates
    assert found.smallest_params == min(one.params for one in drawn)
    assert found.smallest_bytes == min(cost.cost(one.arch).training_bytes(4) for one in drawn)
