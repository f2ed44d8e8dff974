"""Rows of training batches: hashes that recognise them, their labels, and whether near rows share a label."""

from collections import Counter, deque
from functools import lru_cache
from typing import cast

import numpy as np
import torch
from torch import Tensor

MOST_ROWS = 200_000
HASHED_ROWS, HASHED_FEATURES = 256, 256  # how many rows of a batch are hashed, and how many numbers of a row
WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32}
"""Whole numbers of so many bytes: no longer ones, since the last 52 bits of 1.0 and 2.0 are zeros."""
LAST_BATCHES, COMPLETE = 16, 0.95
KEPT_ROWS, KEPT_FEATURES = 1500, 64
"""How many rows are kept for the comparison of nearest neighbours, and how many numbers of a row."""
RELATED = 0.6
"""Rows with less than this share of the labels that chance would give have labels of their own."""


class Rows:
    """Rows of training batches with their labels."""

    def __init__(self) -> None:
        self.trained: set[int] = set()
        self.labels: dict[int, int] = {}
        self.again = 0  # labelled rows that were seen before
        self.relabelled = 0  # those of them with another label than before
        self.pairs: Counter[tuple[int, int]] = Counter()  # rows and labels that came together
        self.features: list[Tensor] = []
        self.classes: list[int] = []
        self.recent: deque[tuple[int, int]] = deque(maxlen=LAST_BATCHES)
        """Of the last training batches: rows that were known already, and all rows."""

    def is_complete(self) -> bool:
        """Whether the training gives rows that are known nearly only: all of them have been seen."""
        return sum(known for known, _ in self.recent) >= COMPLETE * sum(rows for _, rows in self.recent)

    def add_trained(self, rows: list[int]) -> None:
        """Add rows that a backward pass used."""
        if len(self.trained) < MOST_ROWS:
            self.trained.update(rows)

    def add_labels(self, rows: list[int], x: Tensor, y: Tensor) -> None:
        """Add the labels of a training batch."""
        classes = y.detach()[: len(rows)].tolist()
        if len(set(rows)) < len(rows):
            return
        new = dict(zip(rows, classes, strict=True))
        again = self.labels.keys() & new.keys()
        self.again += len(again)
        self.relabelled += sum(self.labels[row] != new[row] for row in again)
        self.labels.update(new)
        if len(self.pairs) < MOST_ROWS:
            self.pairs.update(new.items())
        if len(self.classes) < KEPT_ROWS:
            flat = x.detach()[: len(rows)].reshape(len(rows), -1)
            stride = max(1, flat.shape[1] // KEPT_FEATURES)
            self.features.append(flat[:, ::stride][:, :KEPT_FEATURES].float().clone())
            self.classes += classes

    def labelled_anew(self) -> tuple[int, int]:
        """Rows that came again with another label, and all that came again; none if rows have own labels.

        Of one word several others may follow, but few: if labels were shuffled, it could be any.
        """
        if not self.relabelled:
            return 0, self.again
        seen, counts = (Counter(pair[part] for pair in self.pairs.elements()) for part in (0, 1))
        rest = [1 - count / counts.total() for count in counts.values()]
        chance = sum(
            rows * sum(1 - other**times for other in rest) for times, rows in Counter(seen.values()).items()
        )
        return (0, 0) if len(self.pairs) < RELATED * chance else (self.relabelled, self.again)

    def neighbours(self) -> tuple[float, float, int] | None:
        """Leave-one-out nearest neighbours: fraction with the same label, the same by chance, and rows."""
        if len({len(block[0]) for block in self.features}) != 1:
            return None
        x = torch.cat(self.features)
        y = torch.tensor(self.classes)
        x, kept = torch.unique(x, dim=0, return_inverse=True)
        labels = torch.zeros(len(x), dtype=y.dtype)
        labels[kept] = y
        if len(x) < 2:  # the same row each time
            return None
        x = (x - x.mean(0)) / (x.std(0) + 1e-6)
        distance = torch.cdist(x, x)
        distance.fill_diagonal_(torch.inf)
        agreement = float((labels[distance.argmin(1)] == labels).float().mean())
        fractions = torch.bincount(labels - labels.min()) / len(labels)
        return agreement, float((fractions**2).sum()), len(labels)


def are_different(rows: list[int], x: Tensor) -> bool:
    """Whether the rows of a batch differ, and do not recur by chance as rows of a few small numbers do."""
    return len(set(rows)) > 0.9 * len(rows) and (x.is_floating_point() or x[0].numel() >= 8)


def hash_rows(x: Tensor) -> list[int]:
    """One number for each of the first rows of a batch; equal rows have equal numbers."""
    if x.layout is not torch.strided or x.is_nested or x.is_quantized:
        raise TypeError(f"rows of {'a nested' if x.is_nested else f'a {x.dtype} {x.layout}'} tensor")
    rows = x.detach()[:HASHED_ROWS]
    if x.is_complex():
        rows = rows.resolve_conj()
    flat = rows.flatten(1) if rows.dim() > 1 else rows[:, None]
    if flat.shape[1] > HASHED_FEATURES:
        # With few numbers many images look alike: most pixels of a digit are background.
        flat = flat[:, :: flat.shape[1] // HASHED_FEATURES][:, :HASHED_FEATURES]
    return number_rows(flat)


def number_rows(rows: Tensor) -> list[int]:
    """A number for the bytes of each row of a matrix: a sum of its words, each times a number."""
    # `contiguous` would keep the stride 0 of x[:, None], of which no other type can be a view.
    whole = rows.clone(memory_format=torch.contiguous_format).resolve_neg()
    words = whole.view(WORDS[min(4, whole.element_size())]).cpu().numpy().astype(np.int64)
    return cast(list[int], (words @ _factors(words.shape[1])).tolist())


@lru_cache(maxsize=64)
def _factors(count: int) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Random odd numbers, always the same: two different rows have the same sum by a rare chance only."""
    return np.random.default_rng(0).integers(-(2**62), 2**62, count) * 2 + 1


def shifted_axis(x: Tensor, y: Tensor) -> int | None:
    """The axis along which the targets are the inputs one step later: 1, 0 if time comes first, or None."""
    if x.dim() < 2 or x.dtype != y.dtype:
        return None
    return next((axis for axis in (1, 0) if _is_shifted(x, y, axis)), None)


def _is_shifted(x: Tensor, y: Tensor, axis: int) -> bool:
    steps = x.shape[axis]
    for length in (steps, steps - 1):
        if steps > 2 and y.numel() * steps == x.numel() * length:
            shape = [length if dimension == axis else size for dimension, size in enumerate(x.shape)]
            aligned = y.reshape(shape).narrow(axis, 0, steps - 1)
            return bool((aligned == x.narrow(axis, 1, steps - 1)).all())
    return False
