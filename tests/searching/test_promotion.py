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


def test_the_first_networks_are_the_wanted_the_lowest_the_best_by_prior_and_every_eighth_at_random() -> None:
    prior = {number: float(number % 11) for number in range(12)}  # 0 and 11 are the lowest, 10 the highest
    assert promotion.first(prior, 9, wanted=[2]) == [2, 0, 10, 9, 8, 7, 6, 1, 5]
    assert promotion.first(prior, 3, chosen=[2, 0], wanted=[2]) == [10, 9, 8]
    assert sorted(promotion.first(prior, 99)) == list(range(12))


def test_the_sign_of_the_prior_is_learned() -> None:
    prior = {number: float(number) for number in range(12)}
    rising, falling = {11: 0.9, 0: 0.1, 5: 0.2}, {11: 0.1, 0: 0.9, 5: 0.95}
    assert promotion.first(prior, 3, rising, rising) == [10, 9, 8]
    six = [*rising, 10, 9, 8]
    assert promotion.first(prior, 2, rising, six) == [7, 1]  # the eighth of all is a random one
    assert promotion.first(prior, 3, falling, falling) == [1, 2, 3]
    assert promotion.first(prior, 2, falling, [*falling, 1]) == [2, 3]
    assert promotion.first(prior, 2, rising, [*rising, 1]) == [10, 9]
