"""Mean and deviation of pixels, against numpy; random orders with the classes in proportion."""

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vitruvius.datasets import _samples, stratified_order


def test_statistics_equal_those_of_numpy_per_channel() -> None:
    x = np.random.default_rng(0).integers(256, size=(7, 3, 5, 4), dtype=np.uint8)
    x[:, 1] //= 3
    mean, std = _samples.mean_std(torch.from_numpy(x))
    assert mean == pytest.approx((x / 255).mean((0, 2, 3)).tolist(), rel=1e-12)
    assert std == pytest.approx((x / 255).std((0, 2, 3)).tolist(), rel=1e-12)


def test_a_constant_channel_is_not_divided_by_zero() -> None:
    assert _samples.mean_std(torch.full((3, 1, 2, 2), 51, dtype=torch.uint8)) == ((0.2,), (1.0,))


@settings(max_examples=200)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(0, 100), st.floats(0, 1))
def test_every_prefix_is_nearly_proportional(labels: list[int], seed: int, share: float) -> None:
    order = stratified_order(labels, seed)
    assert sorted(order) == list(range(len(labels)))
    prefix = Counter(labels[position] for position in order[: round(share * len(labels))])
    for label, count in Counter(labels).items():
        assert (
            abs(prefix[label] - round(share * len(labels)) * count / len(labels)) <= 1 + len(set(labels)) / 2
        )


def test_members_of_a_class_are_drawn_at_random() -> None:
    firsts = {stratified_order([0] * 10, seed)[0] for seed in range(200)}
    assert firsts == set(range(10))


def test_ties_between_classes_favour_none() -> None:
    firsts = Counter(stratified_order([0, 1], seed)[0] for seed in range(400))
    assert 140 < firsts[0] < 260
