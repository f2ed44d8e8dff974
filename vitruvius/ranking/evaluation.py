"""How good a ranking is: every score against known accuracies, beside counting parameters, with intervals.

Shapes: n architectures, S seeds, R resamples. A failed score is -inf; an unknown accuracy or size is NaN.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vitruvius.ranking import statistics
from vitruvius.ranking.results import Evaluation, Interval, Standing
from vitruvius.ranking.statistics import Floats

BEATS = "beats counting parameters"
NO_BETTER = "no better than parameters"
NO_SIGNAL = "no signal: the interval contains 0"
CONSTANT = "no signal: all scores are equal"
EQUAL = "no signal: all accuracies are equal"
UNKNOWN = "not judged: fewer than three accuracies are known"
FEWEST = 3
LARGEST = 4_000
"""Of more architectures, so many are drawn: the bootstrap looks at every pair."""


class Sizes(NamedTuple):
    """What is known of the architectures without scoring them."""

    params: Floats  # (n,)
    depth: Floats  # (n,)

    def part(self, chosen: list[int]) -> "Sizes":
        """The sizes of some of them."""
        return Sizes(self.params[chosen], self.depth[chosen])


def sizes_of(standings: Sequence[Standing]) -> Sizes:
    """Parameters and depths; NaN where they could not be counted."""
    found = [
        (np.nan if s.params is None else s.params, np.nan if s.depth is None else s.depth) for s in standings
    ]
    params, depth = np.array(found, dtype=float).T
    return Sizes(params, depth)


def evaluate(
    scores: Mapping[str, Floats], sizes: Sizes, accuracies: Sequence[float | None] = (), seed: int = 0
) -> dict[str, Evaluation]:
    """Each score (n, S) judged by the accuracies that are known; all resamples are shared, so that differences pair."""
    known = _judged([accuracy is not None for accuracy in accuracies], seed)
    if len(known) < FEWEST:
        part = _judged([True] * len(sizes.params), seed)
        return {proxy: _unjudged(found[part], sizes.part(part)) for proxy, found in scores.items()}
    judge = Judge(np.array([accuracies[index] for index in known], dtype=float), sizes.part(known), seed)
    return {proxy: judge.evaluation(found[known]) for proxy, found in scores.items()}


class Judge:
    """Accuracies and sizes of n architectures with the resamples that all scores share."""

    def __init__(self, accuracy_n: Floats, sizes: Sizes, seed: int) -> None:
        self.accuracy = accuracy_n
        self.sizes = sizes
        self.weights = statistics.resamples(len(accuracy_n), seed)
        # Networks of one size: counting parameters knows nothing, which is a tau of 0.
        self.params_tau = np.nan_to_num(self._tau(_known(sizes.params)))

    def evaluation(self, scores_nS: Floats) -> Evaluation:
        """One score, judged."""
        score_n = statistics.mean(scores_nS)
        tau_R = self._tau(score_n)
        tau = statistics.interval(tau_R)
        return Evaluation(
            kendall=tau,
            spearman=statistics.interval(statistics.spearman(score_n, self.accuracy, self.weights)),
            kendall_within_size=statistics.within_size(
                score_n, self.accuracy, self.sizes.params, self.weights
            ),
            **_against_sizes(scores_nS, self.sizes),
            regret_at_1=statistics.regret(score_n, self.accuracy, 1),
            regret_at_5=statistics.regret(score_n, self.accuracy, 5),
            verdict=verdict(tau, statistics.interval(tau_R - self.params_tau))
            if np.ptp(self.accuracy)
            else EQUAL,
            archs=len(score_n),
        )

    def _tau(self, values_n: ArrayLike) -> Floats:
        return statistics.kendall(values_n, self.accuracy, self.weights)


def verdict(tau: Interval, gain: Interval) -> str:
    """In plain words: whether a score says anything, and more than counting parameters does.

    `gain` is the paired difference tau(score) - tau(params). A score that orders the networks backwards beats nothing.
    """
    if tau.low is None or tau.high is None or gain.low is None:
        return CONSTANT
    if tau.low <= 0 <= tau.high:
        return NO_SIGNAL
    return BEATS if tau.low > 0 and gain.low > 0 else NO_BETTER


def _judged(has_accuracy: Sequence[bool], seed: int) -> list[int]:
    """The architectures that are judged: those with an accuracy, or a random part of very many."""
    known = np.flatnonzero(has_accuracy)
    if len(known) > LARGEST:
        known = np.sort(np.random.default_rng(seed).choice(known, LARGEST, replace=False))
    return known.tolist()


def _unjudged(scores_nS: Floats, sizes: Sizes) -> Evaluation:
    return Evaluation(**_against_sizes(scores_nS, sizes), verdict=UNKNOWN, archs=0)


def _against_sizes(scores_nS: Floats, sizes: Sizes) -> dict[str, float | None]:
    """What needs no accuracies: is it a size counter, a depth counter, a matter of luck?"""
    score_n = statistics.mean(scores_nS)
    return {
        "kendall_with_params": statistics.tau(score_n, _known(sizes.params)),
        "kendall_with_depth": statistics.tau(score_n, _known(sizes.depth)),
        "seed_agreement": statistics.seed_agreement(scores_nS),
    }


def _known(size_n: Floats) -> Floats:
    """An unknown size ranks below all known ones."""
    return np.where(np.isnan(size_n), -np.inf, size_n)
