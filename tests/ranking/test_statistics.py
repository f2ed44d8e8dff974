"""Rank statistics against scipy, against counting by hand, and against known distributions."""

import itertools
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from vitruvius.ranking import statistics
from vitruvius.ranking.evaluation import Interval, IntervalWithinSize
from vitruvius.ranking.statistics import Floats

values = st.lists(st.integers(0, 6), min_size=3, max_size=14)


def resampled(x: Any, weights: Floats) -> Floats:
    """The sample that a row of multiplicities stands for."""
    return np.repeat(np.asarray(x, dtype=float), weights.astype(int))


def disagreements(own: Callable[..., Floats], oracle: Callable[..., Any], x: Any, y: Any) -> list[int]:
    """The resamples in which a statistic is not scipy's."""
    weights = statistics.resamples(len(x), seed=1, number=30)
    found = own(x, y, weights)
    wrong = []
    for index, row in enumerate(weights):
        first, second = resampled(x, row), resampled(y, row)
        constant = len(set(first)) == 1 or len(set(second)) == 1
        wanted = math.nan if constant else oracle(first, second).statistic
        if not np.isclose(found[index], wanted, atol=1e-12, equal_nan=True):
            wrong.append(index)
    return wrong


@given(st.data(), values)
@settings(max_examples=25)
def test_tau_and_spearman_of_every_resample_are_scipys(data: st.DataObject, x: list[int]) -> None:
    y = data.draw(st.lists(st.integers(0, 6), min_size=len(x), max_size=len(x)))
    assert disagreements(statistics.kendall, stats.kendalltau, x, y) == []
    assert disagreements(statistics.spearman, stats.spearmanr, x, y) == []


def test_statistics_computed_wrong_are_found() -> None:
    x, y = [1, 2, 2, 3, 5, 4, 4, 7], [2, 1, 3, 3, 4, 5, 5, 6]

    def without_ties(x: Any, y: Any, weights: Floats) -> Floats:
        """Tau-a: the ties are forgotten below the line."""
        count = weights.sum(1)
        return statistics._quadratic_form(statistics._signs(x) * statistics._signs(y), weights) / (
            count * (count - 1)
        )

    def without_multiplicity(x: Any, y: Any, weights: Floats) -> Floats:
        return statistics.kendall(x, y, (weights > 0).astype(float))

    def on_values(x: Any, y: Any, weights: Floats) -> Floats:
        return np.array([np.corrcoef(resampled(x, row), resampled(y, row))[0, 1] for row in weights])

    assert disagreements(without_ties, stats.kendalltau, x, y)
    assert disagreements(without_multiplicity, stats.kendalltau, x, y)
    assert disagreements(on_values, stats.spearmanr, x, y)


def test_failed_scores_rank_last_and_tie_with_one_another() -> None:
    x, y = [3.0, -math.inf, 1.0, -math.inf, 2.0], [0.9, 0.1, 0.5, 0.2, 0.7]
    assert statistics.tau(x, y) == pytest.approx(stats.kendalltau([3, 0, 1, 0, 2], y).statistic)


def test_resamples_draw_as_many_as_there_are_and_begin_with_the_sample() -> None:
    weights = statistics.resamples(7, seed=3)
    assert weights.shape == (1 + statistics.RESAMPLES, 7)
    assert (weights[0] == 1).all()
    assert (weights.sum(1) == 7).all()
    assert (weights == statistics.resamples(7, seed=3)).all()
    assert (weights != statistics.resamples(7, seed=4)).any()


def test_the_interval_is_the_middle_95_percent_and_holds_scipys_bootstrap() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=50)
    y = x + random.normal(size=50)
    found = statistics.interval(statistics.kendall(x, y, statistics.resamples(50)))
    assert found.value == pytest.approx(stats.kendalltau(x, y).statistic)
    drawn = stats.bootstrap(
        (x, y), lambda a, b: stats.kendalltau(a, b).statistic, paired=True, vectorized=False,
        n_resamples=1000,
        method="percentile", rng=random,
    ).confidence_interval  # fmt: skip
    assert found.low == pytest.approx(drawn.low, abs=0.03)
    assert found.high == pytest.approx(drawn.high, abs=0.03)


def test_constants_have_no_correlation() -> None:
    weights = statistics.resamples(5)
    nothing = Interval()
    assert statistics.interval(statistics.kendall([1] * 5, range(5), weights)) == nothing
    assert statistics.interval(statistics.spearman(range(5), [1] * 5, weights)) == nothing
    assert statistics.tau([2, 2], [1, 2]) is None


def by_hand(x: list[float], y: list[float], params: list[int]) -> tuple[float, int]:
    """Tau over pairs of similar size by looking at each pair."""
    signs = []
    for i, j in itertools.combinations(range(len(x)), 2):
        small, large = sorted((params[i], params[j]))
        if large - small <= 0.1 * small and x[i] != x[j] and y[i] != y[j]:
            signs.append(1 if (x[i] < x[j]) == (y[i] < y[j]) else -1)
    return sum(signs) / len(signs), len(signs)


def test_within_size_compares_pairs_of_similar_size_only() -> None:
    source = random.Random(0)
    params = [round(1000 * 1.5 ** (index // 5) * source.uniform(1, 1.12)) for index in range(40)]
    x = [float(source.randrange(8)) for _ in params]
    y = [value + source.gauss(0, 3) for value in x]
    found = statistics.within_size(x, y, params, statistics.resamples(40))
    assert (found.value, found.pairs) == by_hand(x, y, params)
    assert found.low is not None
    assert found.high is not None
    assert found.value is not None
    assert -1 <= found.low < found.value < found.high <= 1
    assert found.value != pytest.approx(statistics.tau(x, y))


def test_a_score_that_knows_size_alone_is_nothing_within_size() -> None:
    params = [size for size in (100, 200, 400, 800, 1600) for _ in range(6)]
    source = random.Random(1)
    accuracy = [math.log(size) + source.uniform(0, 0.1) for size in params]
    noise = [size + source.random() for size in params]
    weights = statistics.resamples(30)
    within = statistics.within_size(noise, accuracy, params, weights)
    assert statistics.tau(noise, accuracy) == pytest.approx(0.85, abs=0.05)
    assert within.pairs == 75
    assert within.low is not None
    assert within.high is not None
    assert within.low < 0 < within.high


def test_ten_percent_is_of_the_smaller_and_included() -> None:
    assert statistics.similar_size([100, 110, 111, math.nan]).tolist() == [
        [1, 1, 0, 0],
        [1, 1, 1, 0],
        [0, 1, 1, 0],
        [0, 0, 0, 0],
    ]


def test_too_few_pairs_give_no_value() -> None:
    found = statistics.within_size(range(8), range(8), [100] * 8, statistics.resamples(8))
    assert found == IntervalWithinSize(pairs=28)


def test_regret_is_the_distance_to_the_best_in_points() -> None:
    accuracy = [0.5, 0.9, 0.8, 0.7, 0.6]
    assert statistics.regret([1, 2, 3, 4, 5], accuracy, 1) == pytest.approx(30)
    assert statistics.regret([1, 2, 3, 4, 5], accuracy, 3) == pytest.approx(10)
    assert (
        statistics.regret([1, 2, 3, 4, 5], accuracy, 5)
        == statistics.regret([1, 2, 3, 4, 5], accuracy, 9)
        == 0
    )
    assert statistics.regret([-math.inf, -math.inf, 0, -math.inf, -math.inf], accuracy, 1) == pytest.approx(
        10
    )


@given(st.data(), st.integers(1, 6))
@settings(max_examples=50)
def test_regret_is_the_mean_over_all_orders_of_tied_scores(data: st.DataObject, top: int) -> None:
    scores = data.draw(st.lists(st.integers(0, 2), min_size=1, max_size=6))
    size = len(scores)
    accuracy = data.draw(st.lists(st.integers(0, 100), min_size=size, max_size=size))
    lost = []
    for order in itertools.permutations(range(size)):
        chosen = sorted(order, key=lambda index: -scores[index])[:top]
        lost.append(max(accuracy) - max(accuracy[index] for index in chosen))
    assert statistics.regret(scores, [value / 100 for value in accuracy], top) == pytest.approx(
        np.mean(lost), abs=1e-9
    )


def test_simultaneous_intervals_hold_all_at_once() -> None:
    """Of 20 statistics without a difference, in 95 % of samples not one interval leaves 0; alone many do."""
    random_ = np.random.default_rng(0)
    together = alone = 0
    for _ in range(300):
        noise_kR = random_.normal(size=(20, 401))
        noise_kR[:, 1:] += noise_kR[:, :1]  # resamples scatter around the sample
        found = statistics.simultaneous(noise_kR)
        together += all((one.low or 0) <= 0 <= (one.high or 0) for one in found)
        alone += all(abs(value) <= 1.96 for value in noise_kR[:, 0])
    assert 0.90 <= together / 300 <= 0.98
    assert alone / 300 < 0.6


def test_one_simultaneous_interval_is_an_ordinary_one() -> None:
    values = np.concatenate([[0.3], 0.3 + np.random.default_rng(1).normal(0, 0.1, 4000)])
    (found,) = statistics.simultaneous(values[None])
    assert (found.low, found.value, found.high) == pytest.approx((0.3 - 0.196, 0.3, 0.3 + 0.196), abs=0.01)
    (constant,) = statistics.simultaneous(np.zeros((1, 50)))
    assert (constant.low, constant.high) == (0, 0)


def test_the_noise_ceiling_compares_two_trainings() -> None:
    source = random.Random(0)
    params = [size for size in (100, 200, 400, 800, 1600) for _ in range(8)]
    truth = [math.log(size) / 10 + source.gauss(0, 0.02) for size in params]
    pairs = [(value + source.gauss(0, 0.005), value + source.gauss(0, 0.005)) for value in truth]
    found = statistics.noise_ceiling(pairs, params)
    first, second = zip(*pairs, strict=True)
    assert (found.archs, found.trainings) == (40, 2)
    assert found.kendall.value == pytest.approx(stats.kendalltau(first, second).statistic)
    assert found.spearman.value == pytest.approx(stats.spearmanr(first, second).statistic)
    within = found.kendall_within_size
    assert (within.value, within.pairs) == by_hand(list(first), list(second), params)
    assert within.value is not None
    assert found.kendall.value is not None
    assert within.value < found.kendall.value
