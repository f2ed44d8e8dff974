r"""Accuracies and gains with intervals, the winner, the front.

The spread between two seeds is pooled over all networks that were trained twice: with $m$ of them, $s^2 =
\frac{1}{2m} \sum_i (a_{i1} - a_{i2})^2$ has $m$ degrees of freedom. A mean over S seeds on n images has the
variance $s^2 / S + p(1-p)/n$; a difference of two networks $s^2 (1/S + 1/S') + \mathrm{var}(d)/n$, where d is
the difference on one image, as both saw the same images. The winner is the best of several: the level of its
gains is corrected for the number it was chosen from (Bonferroni).
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, t

from vitruvius.ranking.evaluation import Interval
from vitruvius.searching.results import Network
from vitruvius.searching.settings import Price
from vitruvius.training.results import wilson

LEVEL = 0.95
Floats = NDArray[np.float64]


def seed_variance(full: Mapping[str, Sequence[float]]) -> tuple[float, int]:
    """Return the variance between two trainings of one network, and the networks that it rests on."""
    twice = [values for values in full.values() if len(values) > 1]
    squares = sum((values[0] - values[1]) ** 2 / 2 for values in twice)
    return (squares / len(twice), len(twice)) if twice else (0.0, 0)


def accuracy(full: Sequence[float], variance: tuple[float, int], images: int) -> Interval:
    """Return the mean over the seeds with its interval over seeds and images."""
    if not full:
        return Interval()
    mean = float(np.mean(full))
    of_images = mean * (1 - mean) / images
    half = _half_width(variance, 1 / len(full), of_images, LEVEL)
    return Interval(value=mean, low=max(0.0, mean - half), high=min(1.0, mean + half))


def difference(
    first: Sequence[str], second: Sequence[str], variance: tuple[float, int], images: int, compared: int = 1
) -> Interval:
    """Return by how many points the first network is better, with the interval of a choice among several."""
    if not first or not second:
        return Interval()
    gain_n = _mean_correct(first, images) - _mean_correct(second, images)
    value, of_images = float(gain_n.mean()), float(gain_n.var()) / images
    level = 1 - (1 - LEVEL) / max(1, compared)
    half = _half_width(variance, 1 / len(first) + 1 / len(second), of_images, level)
    return Interval(
        value=100 * value, low=max(-100.0, 100 * (value - half)), high=min(100.0, 100 * (value + half))
    )


def tested(share: float, images: int) -> Interval:
    """Return an accuracy on test images with its interval."""
    if not images:
        return Interval()
    low, high = wilson(round(share * images), images)
    return Interval(value=share, low=min(share, low), high=max(share, high))


def front(networks: Sequence[Network], price: Price) -> tuple[str, ...]:
    """Return the names of the fully trained networks that no network of the same or a lower price equals."""
    known = [(n, n.price(price), n.interval.value) for n in networks if n.full and n.price(price) is not None]
    ordered = sorted(known, key=lambda row: (row[1], -(row[2] or 0)))
    found, best = [], -math.inf
    for network, _, reached in ordered:
        if reached is not None and reached > best:
            found.append(network.name)
            best = reached
    return tuple(found)


def _half_width(variance: tuple[float, int], seeds: float, of_images: float, level: float) -> float:
    """Return half the width of an interval over seeds (t quantile) and images (normal quantile)."""
    squared, known = variance
    tail = (1 + level) / 2
    of_seeds = (float(t.ppf(tail, known)) ** 2 * squared * seeds) if known else 0.0
    return math.sqrt(of_seeds + float(norm.ppf(tail)) ** 2 * of_images)


def _mean_correct(bits: Sequence[str], images: int) -> Floats:
    """Return, for each image, the share of seeds that classified it correctly."""
    rows = [np.unpackbits(np.frombuffer(bytes.fromhex(text), np.uint8))[:images] for text in bits]
    return np.mean(rows, axis=0)
