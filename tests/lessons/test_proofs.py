"""Verdicts: what agrees and what does not."""

import math
from fractions import Fraction

import pytest

from vitruvius.lessons._proofs import agree, within


def test_equal_values_agree_whatever_holds_them() -> None:
    import torch

    assert agree("a", "b", {"x": [Fraction(1, 2), 2]}, {"x": torch.tensor([0.5, 2.0])}).passed


@pytest.mark.parametrize(
    ("claimed", "found"),
    [
        (1.0, 1.000001),
        (0, 1e-6),
        ([1, 2], [1, 2, 3]),
        ({"a": 1}, {"b": 1}),
        (True, False),
        ("yes", "no"),
        (None, 0),
        (math.inf, 1.0),
        (math.nan, math.nan),
        ([math.nan, 1.0], [1.0, 1.0]),  # a NaN in front of an entry that agrees
    ],
)
def test_different_values_do_not_agree(claimed: object, found: object) -> None:
    assert not agree("a", "b", claimed, found).passed


def test_a_difference_of_rounding_is_none() -> None:
    assert agree("a", "b", 1e-20, 0.0).passed
    assert agree("a", "b", 1.0, 1.0 + 1e-15).passed


def test_the_worst_entry_is_named() -> None:
    assert "at b.1: 2 against 3" in agree("a", "b", {"a": 1, "b": [1, 2]}, {"a": 1, "b": [1, 3]}).detail


def test_an_estimate_is_judged_by_its_standard_error() -> None:
    assert within("a", "b", 1.0, 1.3, 0.1).passed
    assert not within("a", "b", 1.0, 1.5, 0.1).passed
