r"""Average scores over seeds, and find the networks that cannot be told apart from the best.

Scores often have heavy tails: their mean follows the one seed with the largest values. So seeds are averaged
on a scale on which they can be: logarithms where all scores have one sign, else ranks within each seed.

Shapes: n networks, S seeds. A failed score is -inf for all seeds: it ranks last, tied with others.
"""

import math
from itertools import combinations

import numpy as np
from scipy.special import stdtrit
from scipy.stats import rankdata

from vitruvius.ranking import statistics
from vitruvius.ranking.statistics import Floats

LEVEL = 0.05
"""The probability of losing a network that is as good as the best."""


def comparable(scores_nS: Floats) -> Floats:
    """Return the scores on the scale on which seeds are averaged: logarithms, or ranks within a seed.

    >>> comparable(np.array([[1.0, 100.0], [10.0, 1.0]])).round(2).tolist()
    [[0.0, 4.61], [2.3, 0.0]]
    >>> comparable(np.array([[-1.0, 100.0], [10.0, 1.0], [-math.inf, -math.inf]])).tolist()
    [[1.0, 2.0], [2.0, 1.0], [-inf, -inf]]
    """
    is_scored = np.isfinite(scores_nS).all(1)
    known, found_nS = scores_nS[is_scored], np.full(scores_nS.shape, -np.inf)
    if (known > 0).all():
        found_nS[is_scored] = np.log(known)
    elif (known < 0).all():
        found_nS[is_scored] = -np.log(-known)
    else:
        found_nS[is_scored] = rankdata(known, axis=0)
    return found_nS


def order(scores_nS: Floats) -> Floats:
    """Return a number per network by which a score orders them: the mean over seeds of what is comparable."""
    return comparable(scores_nS).mean(1)


def centre(scores_nS: Floats) -> Floats:
    """Return the mean score of each network: geometric if all scores have one sign, else arithmetic."""
    known = scores_nS[np.isfinite(scores_nS).all(1)]
    if known.size and ((known > 0).all() or (known < 0).all()):
        sign = np.sign(known.flat[0])
        # Counts are the same for every seed, and exact.
        is_constant = (scores_nS == scores_nS[:, :1]).all(1)
        return np.where(is_constant, scores_nS[:, 0], sign * np.exp(sign * order(scores_nS)))
    return (scores_nS / 1024).mean(1) * 1024  # no overflow near the largest float; nothing is rounded


def standard_deviation(scores_nS: Floats) -> Floats:
    """Return the standard deviation over the seeds without overflow."""
    _, exponent_n1 = np.frexp(np.abs(scores_nS).max(1, keepdims=True))
    return np.ldexp(np.ldexp(scores_nS, -exponent_n1).std(1, ddof=1), exponent_n1[:, 0])


def agreement(scores_nS: Floats) -> float | None:
    """Return the mean tau between the scores of two seeds: how little the random draw matters."""
    taus = [statistics.tau(first, second) for first, second in combinations(scores_nS.T, 2)]
    known = [value for value in taus if value is not None]
    return sum(known) / len(known) if known else None


def tied_with_best(scores_nS: Floats) -> list[int]:
    r"""Return the best network, then those that cannot be told apart from it, best first.

    A network is behind if its mean is lower by more than $t \cdot s$, where $t$ is the Student quantile for
    the level 0.05 divided by the number of comparisons (the best was selected among all), with $(n-1)(S-1)$
    degrees of freedom, and $s$ the larger of two standard errors of the paired difference: that of all
    networks pooled, and its own. With one seed nothing can be told apart: every network is returned.
    """
    values_nS = comparable(scores_nS)
    means = values_nS.mean(1)
    ordered = [int(index) for index in np.argsort(-means, kind="stable") if math.isfinite(means[index])]
    number, seeds = len(ordered), scores_nS.shape[1]
    if seeds < 2 or number < 2:
        return ordered
    known = values_nS[ordered]
    freedom = (number - 1) * (seeds - 1)
    noise = known - known.mean(1, keepdims=True) - known.mean(0) + known.mean()
    pooled = math.sqrt(2 * float((noise**2).sum()) / freedom / seeds)
    behind = known[0] - known
    own = behind.std(1, ddof=1) / math.sqrt(seeds)
    quantile = float(stdtrit(freedom, 1 - LEVEL / (number - 1)))
    is_tied = behind.mean(1) <= quantile * np.maximum(own, pooled)
    return [index for index, tied in zip(ordered, is_tied, strict=True) if tied]
