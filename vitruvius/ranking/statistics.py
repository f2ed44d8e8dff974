r"""Rank statistics with percentile bootstrap intervals over architectures, all resamples at once.

A resample of n architectures is a row of multiplicities $w$ that sums to n. With $S_{ij} = \mathrm{sign}(x_i
- x_j)$ and $T$ likewise for $y$, Kendall's tau-b of a resample is $w^T(S \circ T)w / \sqrt{w^T|S|w \cdot
w^T|T|w}$: three matrix products serve a thousand resamples, and two scores that share their resamples have
paired differences.

Shapes: n architectures, R resamples, k statistics. A failed score is -inf: it ranks last, tied with others.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vitruvius.ranking.evaluation import Interval, IntervalWithinSize, NoiseCeiling

RESAMPLES = 1000
CLOSE = 1.1  # two networks are of nearly equal size if the ratio of their parameter counts is at most this
ENOUGH_PAIRS = 30  # fewer comparable pairs of nearly equal size give no statistic
Floats = NDArray[np.float64]


def resamples(count: int, seed: int = 0, number: int = RESAMPLES) -> Floats:
    """Draw how often each architecture is in each resample, (R, n); the first row is the sample itself."""
    random = np.random.default_rng(seed)
    drawn_Rn = random.multinomial(count, np.full(count, 1 / count), size=number).astype(float)
    return np.vstack([np.ones(count), drawn_Rn])


def kendall(x_n: ArrayLike, y_n: ArrayLike, weights_Rn: Floats) -> Floats:
    r"""Kendall's tau-b, $(P-Q)/\sqrt{(P+Q+T_x)(P+Q+T_y)}$, of each resample; NaN if all values tie."""
    sx_nn, sy_nn = _signs(x_n), _signs(y_n)
    untied = _quadratic_form(np.abs(sx_nn), weights_Rn) * _quadratic_form(np.abs(sy_nn), weights_Rn)
    return _ratio(_quadratic_form(sx_nn * sy_nn, weights_Rn), np.sqrt(untied))


def spearman(x_n: ArrayLike, y_n: ArrayLike, weights_Rn: Floats) -> Floats:
    """Spearman's rank correlation, on mid-ranks, of each resample; NaN if all values tie."""
    x_Rn, y_Rn = (_centred(_mid_ranks(values, weights_Rn), weights_Rn) for values in (x_n, y_n))
    both, x2, y2 = ((weights_Rn * a * b).sum(1) for a, b in ((x_Rn, y_Rn), (x_Rn, x_Rn), (y_Rn, y_Rn)))
    return _ratio(both, np.sqrt(x2 * y2))


def within_size(x_n: ArrayLike, y_n: ArrayLike, size_n: ArrayLike, weights_Rn: Floats) -> IntervalWithinSize:
    r"""Tau over the pairs of nearly equal size, $(P-Q)/(P+Q)$; tied pairs are not counted."""
    agree_nn = _signs(x_n) * _signs(y_n) * similar_size(size_n)
    compared = np.abs(agree_nn)
    pairs = round(float(compared.sum())) // 2
    if pairs < ENOUGH_PAIRS:
        return IntervalWithinSize(pairs=pairs)
    found = interval(_ratio(_quadratic_form(agree_nn, weights_Rn), _quadratic_form(compared, weights_Rn)))
    return IntervalWithinSize(**found.model_dump(), pairs=pairs)


def similar_size(params_n: ArrayLike) -> Floats:
    """Return (n, n): 1 where counts differ by at most 10 % of the smaller, else 0; NaN is similar to none."""
    params = np.asarray(params_n, dtype=float)
    return (np.maximum.outer(params, params) <= CLOSE * np.minimum.outer(params, params)).astype(float)


def interval(values_R: Floats) -> Interval:
    """Return the statistic of the sample itself (first) with the middle 95 % of its resamples."""
    drawn = values_R[1:][np.isfinite(values_R[1:])]
    if not math.isfinite(values_R[0]) or not len(drawn):
        return Interval()
    low, high = np.percentile(drawn, [2.5, 97.5])
    return Interval(value=float(values_R[0]), low=float(low), high=float(high))


def tau(x_n: ArrayLike, y_n: ArrayLike) -> float | None:
    """Kendall's tau-b without an interval; None if all values tie.

    >>> tau([1, 2, 3, 4], [1, 2, 4, 3])
    0.6666666666666666
    """
    value = float(kendall(x_n, y_n, np.ones((1, np.size(x_n))))[0])
    return value if math.isfinite(value) else None


def regret(scores_n: ArrayLike, accuracies_n: ArrayLike, top: int) -> float:
    r"""Accuracy points lost by training only the `top` best-ranked networks: best of all minus best of these.

    Networks tied for the last rank are taken in random order, and the expectation is returned: the best of
    $r$ out of $m$ is the j-th best (from 0) with probability $\binom{m-1-j}{r-1} / \binom{m}{r}$.
    """
    accuracy, score = (np.asarray(values, dtype=float) for values in (accuracies_n, scores_n))
    last = np.sort(score)[::-1][min(top, len(score)) - 1]
    sure = accuracy[score > last].max(initial=-math.inf)
    tied = np.sort(accuracy[score == last])[::-1]
    m, r = len(tied), min(top, len(score)) - int((score > last).sum())
    total = sum(math.comb(m - 1 - j, r - 1) * max(sure, best) for j, best in enumerate(tied))
    return max(0.0, 100 * float(accuracy.max() - total / math.comb(m, r)))


def simultaneous(values_kR: Floats) -> list[Interval]:
    r"""Return 95 % intervals of several statistics that hold together (max-T, Westfall and Young 1993).

    Each reaches $c$ bootstrap deviations to both sides, where $c$ is the 95 % quantile of the largest of all
    deviations in a resample: the luckiest of many comparisons is not taken for a finding.
    """
    drawn_kR = values_kR[:, 1:] - values_kR[:, :1]
    deviation_k = drawn_kR.std(1, ddof=1)
    scaled_kR = _ratio(np.abs(drawn_kR), np.broadcast_to(deviation_k[:, None], drawn_kR.shape))
    reach = np.quantile(np.nan_to_num(scaled_kR).max(0), 0.95) * deviation_k
    values = zip(values_kR[:, 0].tolist(), reach.tolist(), strict=True)
    return [Interval(value=value, low=value - far, high=value + far) for value, far in values]


def noise_ceiling(pairs: Sequence[Sequence[float]], params: Sequence[int], seed: int = 0) -> NoiseCeiling:
    """Return how well the accuracies of one training order the networks as those of a second do."""
    first, second = zip(*pairs, strict=True)
    weights = resamples(len(params), seed)
    return NoiseCeiling(
        archs=len(params),
        trainings=len(pairs[0]),
        kendall=interval(kendall(first, second, weights)),
        spearman=interval(spearman(first, second, weights)),
        kendall_within_size=within_size(first, second, params, weights),
    )


def dense_ranks(values_n: ArrayLike) -> NDArray[np.intp]:
    """Return dense ranks: 0 for the lowest value, equal values equal.

    >>> dense_ranks([0.5, -math.inf, 0.7, 0.5, -math.inf]).tolist()
    [1, 0, 2, 1, 0]
    """
    return np.unique(np.asarray(values_n), return_inverse=True)[1]


def _signs(values_n: ArrayLike) -> Floats:
    """Return the order of each pair, -1, 0 or 1; by dense ranks, so that two infinities tie."""
    rank_n = dense_ranks(values_n)
    return np.sign(np.subtract.outer(rank_n, rank_n)).astype(float)


def _quadratic_form(matrix_nn: Floats, weights_Rn: Floats) -> Floats:
    """The quadratic form of each resample, (R,)."""
    return np.einsum("rn,rn->r", weights_Rn @ matrix_nn, weights_Rn)


def _ratio(above_R: Floats, below_R: Floats) -> Floats:
    return np.divide(above_R, below_R, out=np.full_like(above_R, np.nan), where=below_R > 0)


def _mid_ranks(values_n: ArrayLike, weights_Rn: Floats) -> Floats:
    """Return the mid-rank of each architecture within each resample, (R, n)."""
    rank_n = dense_ranks(values_n)
    size_Rl = weights_Rn @ np.eye(int(rank_n.max()) + 1)[rank_n]
    rank_Rl = size_Rl.cumsum(1) - (size_Rl - 1) / 2
    return rank_Rl[:, rank_n]


def _centred(values_Rn: Floats, weights_Rn: Floats) -> Floats:
    return values_Rn - (weights_Rn * values_Rn).sum(1, keepdims=True) / weights_Rn.sum(1, keepdims=True)
