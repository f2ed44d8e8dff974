"""Cutting samples into parts: by position, or by seed with every class in proportion."""

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
from torch import Tensor

from vitruvius.core.errors import UserError
from vitruvius.datasets import Split


def put_aside(x: Tensor, y: Tensor | None, validation: int | None, default: int) -> tuple[Split, Split]:
    """Training and validation samples: the last `validation` by position are put aside; no memory is copied."""
    cut = len(x) - checked(validation, default, len(x))
    return Split(x[:cut], None if y is None else y[:cut]), Split(x[cut:], None if y is None else y[cut:])


def checked(validation: int | None, default: int, available: int) -> int:
    """How many samples to put aside: as many as asked for, if some are left to train on."""
    number = default if validation is None else validation
    if not 0 <= number < available:
        raise UserError(
            f"validation {number}: of {available:,} training samples 0 to {available - 1:,} can be put aside"
        )
    return number


def stratified_order(labels: Sequence[Hashable], seed: int) -> list[int]:
    """Positions in a random order whose every prefix holds the classes in proportion, as near as whole samples go.

    Each sample gets the place (i + 1/2) / n among the n of its class, in random order, and the places are sorted.

    >>> order = stratified_order([0] * 90 + [1] * 10, seed=0)
    >>> sum(position >= 90 for position in order[:20])
    2
    """
    random = np.random.default_rng(seed)
    seen: Counter[Hashable] = Counter()
    sizes = Counter(labels)
    place = {}
    for position in random.permutation(len(labels)).tolist():
        label = labels[position]
        place[position] = (seen[label] + 0.5) / sizes[label]
        seen[label] += 1
    # equal places stay in the order of the permutation, so no class is favoured
    return sorted(place, key=lambda position: place[position])
