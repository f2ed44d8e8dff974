"""Intervals against simulation and closed forms."""

import numpy as np
import pytest

from vitruvius.searching import gains


def bits(correct: np.ndarray) -> str:
    return np.packbits(correct.astype(bool)).tobytes().hex()


def test_the_seed_variance_is_that_of_pairs() -> None:
    full = {"a": (0.5, 0.7), "b": (0.9, 0.9), "c": (0.3,)}
    expected = np.mean([np.var(values, ddof=1) for values in ((0.5, 0.7), (0.9, 0.9))])
    variance, known = gains.seed_variance(full)
    assert variance == pytest.approx(expected)
    assert known == 2
    assert gains.seed_variance({"c": (0.3,)}) == (0.0, 0)


def test_intervals_of_differences_hold_the_truth_as_often_as_they_say() -> None:
    """Two networks of equal accuracy, five pairs of seeds, 300 common images: about 95 % of 300 intervals."""
    random = np.random.default_rng(0)
    images, held = 300, 0
    for _ in range(300):
        ability = random.normal(1.0, 1.0, images)

        def network(ability: np.ndarray = ability) -> list[np.ndarray]:
            return [ability + random.normal(0, 0.08) + random.normal(0, 0.7, images) > 0 for _ in range(2)]

        networks = [network() for _ in range(5)]
        full = {str(i): [float(seed.mean()) for seed in pair] for i, pair in enumerate(networks)}
        first, second = ([bits(seed) for seed in networks[i]] for i in (0, 1))
        found = gains.difference(first, second, gains.seed_variance(full), images)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 0 <= found.high
    assert 0.92 < held / 300 <= 1.0


def test_a_choice_among_several_widens_the_interval() -> None:
    random = np.random.default_rng(1)
    pair = [[bits(random.random(100) < p) for _ in range(2)] for p in (0.8, 0.7)]
    one, five = (gains.difference(pair[0], pair[1], (1e-4, 3), 100, compared) for compared in (1, 5))
    assert one.value == five.value
    assert five.low < one.low < one.value < one.high < five.high  # type: ignore[operator]


def test_the_test_interval_is_wilsons() -> None:
    found = gains.tested(0.9, 100)  # by R's prop.test without correction
    assert [found.low, found.high] == pytest.approx([0.82563, 0.94477], abs=1e-5)
    assert gains.tested(1.0, 10).high == 1.0
    assert gains.tested(0.5, 0).value is None
