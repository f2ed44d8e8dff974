"""Promotion: the front by brute force, ties, the share that is chosen at random."""

import numpy as np

from vitruvius.searching import promotion


def test_promotion_by_price_takes_whole_fronts() -> None:
    random = np.random.default_rng(2)
    scores = dict(enumerate(random.random(30).tolist()))
    prices = dict(enumerate(random.random(30).tolist()))
    on_front = {
        n
        for n in scores
        if not any(scores[m] >= scores[n] and prices[m] <= prices[n] and m != n for m in scores)
    }
    chosen = promotion.promoted(scores, len(on_front), prices)
    assert set(chosen) == on_front
    few = promotion.promoted(scores, 2, prices)
    assert few == [max(scores, key=scores.__getitem__), min(on_front, key=prices.__getitem__)]
    assert len(set(promotion.promoted(scores, 20, prices))) == 20


def test_ties_are_broken_by_the_second_score() -> None:
    assert promotion.promoted({1: 0.5, 2: 0.5, 3: 0.5}, 2, ties={1: 0.0, 2: 0.1, 3: 0.2}) == [3, 2]


def test_the_first_networks_are_the_wanted_the_best_by_prior_and_every_fourth_at_random() -> None:
    prior = {number: float(number) for number in range(12)}
    assert promotion.first(prior, 8, chosen=[11], wanted=[2]) == [2, 10, 9, 0, 8, 7, 6, 1]
    assert sorted(promotion.first(prior, 99)) == list(range(12))
