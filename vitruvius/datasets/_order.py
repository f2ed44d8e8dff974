"""A random order of samples with every class in proportion."""

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np


def stratified_order(labels: Sequence[Hashable], seed: int) -> list[int]:
    """Return all indices in a random order whose every prefix holds the classes in proportion.

    In random order, the i-th of the n samples of a class gets the key (i + 1/2) / n; the keys are sorted.

    >>> order = stratified_order([0] * 90 + [1] * 10, seed=0)
    >>> sum(position >= 90 for position in order[:20])
    2
    """
    seen: Counter[Hashable] = Counter()
    sizes, key = Counter(labels), {}
    for position in np.random.default_rng(seed).permutation(len(labels)).tolist():
        label = labels[position]
        key[position] = (seen[label] + 0.5) / sizes[label]
        seen[label] += 1
    return sorted(key, key=key.__getitem__)  # equal keys stay in random order, so no class is favoured
