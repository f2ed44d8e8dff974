"""Scores are averaged as logs or ranks; the list of the best keeps what is as good in 95 % of draws."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from vitruvius.ranking import seeds

FAILED = [-math.inf] * 3


def test_a_seed_with_a_heavy_tail_does_not_decide_alone() -> None:
    scores = np.array([[1.0, 1.0, 1e9], [10.0, 10.0, 1e8]])
    assert scores.mean(1).argmax() == 0
    assert seeds.order(scores).argmax() == 1
    assert seeds.order(-scores).argmax() == 0  # the smaller of two negative scores is the larger number
    assert seeds.centre(scores) == pytest.approx(stats.gmean(scores, axis=1))
    assert seeds.centre(-scores) == pytest.approx(-stats.gmean(scores, axis=1))


def test_scores_of_both_signs_are_averaged_by_their_ranks() -> None:
    scores = np.array([[-1.0, 1.0, 1e9], [10.0, 10.0, 1e8], FAILED, [0.0, 0.0, 0.0]])
    assert seeds.comparable(scores).tolist() == [[1, 2, 3], [3, 3, 2], FAILED, [2, 1, 1]]
    assert seeds.order(scores).argsort().tolist() == [2, 3, 0, 1]
    assert seeds.centre(scores)[0] == pytest.approx(1e9 / 3)


def test_counts_keep_their_order_and_ties() -> None:
    counts = np.repeat([[7.0], [1e6], [7.0], [1e6 + 1]], 3, axis=1)
    assert stats.rankdata(seeds.order(counts)).tolist() == [1.5, 3, 1.5, 4]
    assert seeds.tied_with_best(counts) == [3]


def test_agreement_between_seeds_is_the_mean_tau_of_two() -> None:
    scores = np.array([[1.0, 1, 2], [2, 3, 1], [3, 2, 3], [4, 4, 4]])
    taus = [stats.kendalltau(*pair).statistic for pair in itertools.combinations(scores.T, 2)]
    assert seeds.agreement(scores) == pytest.approx(np.mean(taus))
    assert seeds.agreement(scores[:, :1]) is None
    assert seeds.agreement(np.ones((4, 3))) is None


def test_ties_of_two_networks_are_those_of_the_paired_t_test() -> None:
    random = np.random.default_rng(0)
    for _ in range(50):
        scores = np.exp(random.normal([[0.3], [0.0]], 0.3, (2, 4)))
        gaps = np.abs(np.diff(np.log(scores), axis=0).mean()), np.diff(np.log(scores), axis=0).std(ddof=1)
        p = stats.t.sf(gaps[0] / (gaps[1] / 2), df=3)
        assert (len(seeds.tied_with_best(scores)) == 1) == (p < 0.05)


@pytest.mark.parametrize("spread", [1.0, 3.0])
def test_a_network_as_good_as_the_best_stays_in_the_list(spread: float) -> None:
    """Ten networks, two of them equally best, three seeds: both are in the list in 95 % of draws."""
    random, kept, shorter = np.random.default_rng(1), 0, 0
    level = np.array([[0.0]] * 8 + [[3.0]] * 2)
    noise = np.array([[0.3]] * 8 + [[0.3 * spread]] * 2)  # the best may scatter more than the others
    for _ in range(400):
        found = seeds.tied_with_best(np.exp(random.normal(level, noise, (10, 3))))
        kept += {8, 9} <= set(found)
        shorter += len(found) < 10
    assert kept / 400 >= (0.95 if spread == 1 else 0.85)
    assert shorter / 400 > 0.9  # and those far behind are not


def test_without_seeds_or_rivals_nothing_is_told_apart() -> None:
    scores = np.array([[1.0, 2, 4], [7.0, 12, 11], FAILED, [10.0, 11, 12]])
    assert seeds.tied_with_best(scores[:, :1]) == [3, 1, 0]
    assert seeds.tied_with_best(scores[:1]) == [0]
    assert seeds.tied_with_best(np.array([FAILED])) == []
    assert seeds.tied_with_best(np.array([scores[0], scores[0]])) == [0, 1]
