"""The synthetic set has the assignment's distribution."""

import numpy as np
import pytest
import torch

from vitruvius import datasets


def test_split_is_contiguous_seventy_twenty_ten() -> None:
    data = datasets.get("synthetic")
    assert [len(part) for part in (data.train, data.validation, data.test)] == [14_000, 4_000, 2_000]
    assert data.shape == (100,)
    assert data.mean == data.std == ()


def test_twenty_directions_have_variance_ten_and_eighty_have_one() -> None:
    data = datasets.get("synthetic", seed=5)
    x = torch.cat([data.train.x, data.validation.x, data.test.x]).double().numpy()
    variances = np.linalg.eigvalsh(np.cov(x.T))
    assert variances[-20:] == pytest.approx(10, rel=0.12)
    assert variances[:80] == pytest.approx(1, rel=0.15)
    assert variances.sum() == pytest.approx(280, rel=0.01)


def test_no_single_coordinate_gives_the_label_away_but_a_linear_map_does() -> None:
    data = datasets.get("synthetic")
    assert data.train.y is not None
    assert data.test.y is not None
    x, target = data.train.x.numpy(), 2.0 * data.train.y.numpy() - 1
    correlation = np.abs(np.corrcoef(x.T, target)[-1, :-1])
    assert correlation.max() < 0.6  # an unrotated draw with this label would show exactly 20 equal ones
    assert (correlation > 0.01).sum() > 60
    solution = np.linalg.lstsq(x, target, rcond=None)[0]
    assert ((data.test.x.numpy() @ solution > 0) == (data.test.y.numpy() == 1)).mean() > 0.97


def test_labels_are_balanced() -> None:
    counts = datasets.get("synthetic").class_counts()
    assert counts.keys() == {"negative", "positive"}
    assert abs(counts["positive"] - 7000) < 300


def test_another_seed_draws_other_numbers() -> None:
    first, second = datasets.get("synthetic", seed=0), datasets.get("synthetic", seed=1)
    assert first.sha256 != second.sha256
    assert not torch.equal(first.train.x, second.train.x)
