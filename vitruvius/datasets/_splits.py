"""Splitting samples: by position, or in a random order with every class in proportion."""

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
from torch import Tensor

from vitruvius.core.errors import UserError
from vitruvius.datasets import Split


def put_aside(x: Tensor, y: Tensor | None, validation: int | None, default: int) -> tuple[Split, Split]:
    """Split off the last `validation` samples; no memory is copied."""
    cut = len(x) - checked(validation, default, len(x))
    return Split(x[:cut], None if y is None else y[:cut]), Split(x[cut:], None if y is None else y[cut:])


def checked(validation: int | None, default: int, available: int) -> int:
    """Return the number of validation samples; refuse one that leaves nothing to train on."""
    number = default if validation is None else validation
    if not 0 <= number < available:
        raise UserError(
            f"validation {number}: of {available:,} training samples 0 to {available - 1:,} can be put aside"
        )
    return number


def stratified_order(labels: Sequence[Hashable], seed: int) -> list[int]:
    """Return all indices in a random order whose every prefix holds the classes in proportion.

    In random order, the i-th of the n samples of a class gets the key (i + 1/2) / n; then the keys are
    sorted.

    >>> order = stratified_order([0] * 90 + [1] * 10, seed=0)
    >>> sum(position >= 90 for position in order[:20])
    2
    """
    random = np.random.default_rng(seed)
    seen: Counter[Hashable] = Counter()
    sizes = Counter(labels)
    key = {}
    for position in random.permutation(len(labels)).tolist():
        label = labels[position]
        key[position] = (seen[label] + 0.5) / sizes[label]
        seen[label] += 1
    # equal keys stay in the order of the permutation, so no class is favoured
    return sorted(key, key=lambda position: key[position])
