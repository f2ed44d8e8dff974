"""Random orders whose every prefix holds the classes in proportion."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from vitruvius.datasets import _splits


@settings(max_examples=200, derandomize=True, database=None, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(0, 100), st.floats(0, 1))
def test_every_prefix_is_nearly_proportional(labels: list[int], seed: int, share: float) -> None:
    order = _splits.stratified_order(labels, seed)
    assert sorted(order) == list(range(len(labels)))
    prefix = Counter(labels[position] for position in order[: round(share * len(labels))])
    for label, count in Counter(labels).items():
        assert (
            abs(prefix[label] - round(share * len(labels)) * count / len(labels)) <= 1 + len(set(labels)) / 2
        )


def test_members_of_a_class_are_drawn_at_random() -> None:
    firsts = {_splits.stratified_order([0] * 10, seed)[0] for seed in range(200)}
    assert firsts == set(range(10))


def test_ties_between_classes_favour_none() -> None:
    firsts = Counter(_splits.stratified_order([0, 1], seed)[0] for seed in range(400))
    assert 140 < firsts[0] < 260
