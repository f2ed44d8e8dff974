"""Contestants that take turns in one process, so that a change of the machine meets all of them."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor
from torch.nn.functional import linear

from vitruvius.training import onednn

Contestant = Callable[[int], None]
"""Does its work so many times."""


def seconds(contestants: Mapping[str, Contestant], blocks: int, length: int) -> dict[str, list[float]]:
    """Seconds per repetition of each contestant, block by block; the order turns by one in every block."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    names = list(contestants)
    for block in range(blocks):
        for name in names[block % len(names) :] + names[: block % len(names)]:
            started = time.perf_counter()
            contestants[name](length)
            times[name].append((time.perf_counter() - started) / length)
    return times


def ratio(slow: Sequence[float], fast: Sequence[float]) -> tuple[float, float, float]:
    """How many times as fast: the median over blocks, and an interval that holds it with at least 95 %.

    Blocks are paired. The interval is between two order statistics: that the median of all blocks is below
    the k-th smallest of n happens with the probability of fewer than k heads in n throws.

    >>> ratio([2.0] * 10, [1.0] * 10)
    (2.0, 2.0, 2.0)
    """
    ratios = sorted(a / b for a, b in zip(slow, fast, strict=True))
    count, outside, k = len(ratios), 0.0, 0
    term = 0.5**count
    while k < count // 2 and outside + term <= 0.025:
        outside, k = outside + term, k + 1
        term *= (count - k + 1) / k
    k = max(k - 1, 0)
    return statistics.median(ratios), ratios[k], ratios[count - 1 - k]


def matmul_peak(size: int = 2048, rounds: int = 8) -> float:
    """Floating-point operations per second of a large product, best of several."""
    a, b = torch.randn(size, size), torch.randn(size, size)
    return 2 * size**3 / min(_seconds(a, b) for _ in range(rounds))


def _seconds(a: Tensor, b: Tensor) -> float:
    with torch.no_grad(), onednn.in_evaluation():
        started = time.perf_counter()
        linear(a, b)
        return time.perf_counter() - started
