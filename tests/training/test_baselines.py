"""Baselines against scikit-learn and brute force; mirrored images; limits by counts."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from vitruvius.core.runs import RunFolder
from vitruvius.datasets import Dataset, Split
from vitruvius.training import baselines
from vitruvius.training.results import Baselines


def digits(train: int = 1400) -> Dataset:
    """scikit-learn's digits of 8 pixels."""
    loaded: Any = load_digits()
    order = np.random.default_rng(0).permutation(len(loaded.target))
    x = torch.from_numpy((loaded.images[order] * 255 / 16).round().astype(np.uint8))[:, None]
    y = torch.from_numpy(loaded.target[order]).long()
    cuts = [slice(0, train), slice(1400, 1600), slice(1600, 1797)]
    train_part, validation, test = (Split(x[cut], y[cut]) for cut in cuts)
    return Dataset("digits", train_part, validation, test, tuple("0123456789"))


def test_on_digits_they_are_as_good_as_scikit_learns() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier

    data = digits()
    known = baselines.measure(data)
    assert known is not None
    found = {one.name: one.test_accuracy for one in baselines.test(known, data).found}
    train, test = (split.x.flatten(1).numpy() / 16 for split in (data.train, data.test))
    assert data.train.y is not None
    assert data.test.y is not None
    linear = LogisticRegression(max_iter=1000).fit(train, data.train.y).score(test, data.test.y)
    nearest = KNeighborsClassifier(5).fit(train, data.train.y).score(test, data.test.y)
    assert found["linear probe"] == pytest.approx(linear, abs=0.015)
    assert found["nearest neighbours"] == pytest.approx(nearest, abs=0.011)
    assert known.mirrored is False


def test_the_linear_probe_is_at_the_minimum_of_its_loss() -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((120, 6)).astype(np.float32), rng.integers(0, 3, 120)
    classify = baselines._linear(x, y, 3, 0.1)
    reference = LogisticRegression(C=1 / (0.1 * 120), max_iter=1000, tol=1e-8).fit(x, y)
    other = rng.standard_normal((2000, 6)).astype(np.float32)
    assert (classify(other) == reference.predict(other)).mean() > 0.995


def test_nearest_neighbours_by_brute_force() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((50, 4)).astype(np.float32), rng.integers(0, 3, 50)
    other = rng.standard_normal((30, 4)).astype(np.float32)
    found = baselines._nearest(x, y, 3)(other)
    for sample, guess in zip(other, found, strict=True):
        near = y[np.argsort(((x.astype(float) - sample) ** 2).sum(1))[:5]]
        votes = np.bincount(near, minlength=3)
        assert votes[guess] == votes.max()


def pictures(mirrored_alike: bool) -> Dataset:
    """Two classes: bright above or below, or bright on the left or on the right."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(0, 60, (300, 1, 16, 16), generator=generator, dtype=torch.uint8)
    y = torch.arange(300) % 2
    for sample, label in zip(x, y, strict=True):
        half = slice(0, 8) if label else slice(8, 16)
        if mirrored_alike:
            sample[0, half] += 150
        else:
            sample[0, :, half] += 150
    parts = [slice(0, 200), slice(200, 250), slice(250, 300)]
    train, validation, test = (Split(x[part], y[part]) for part in parts)
    return Dataset("halves", train, validation, test, ("a", "b"))


@pytest.mark.parametrize("alike", [True, False])
def test_validation_forbids_flips_where_mirrored_images_are_taken_for_others(alike: bool) -> None:
    known = baselines.measure(pictures(alike))
    assert known is not None
    assert known.mirrored is alike


def test_no_random_number_of_torch_is_drawn() -> None:
    before = torch.get_rng_state()
    baselines.measure(pictures(True))
    assert torch.equal(before, torch.get_rng_state())


def test_the_cost_is_bounded_by_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines, "TRAIN_IMAGES", 40)
    monkeypatch.setattr(baselines, "WORK", 40 * 2 * 64)
    known = baselines.measure(pictures(True))
    assert known is not None
    assert (known.images, known.side) == (40, 8)


def test_without_validation_images_only_the_test_images_are_counted() -> None:
    data = pictures(True)
    empty = Split(data.train.x[:0], torch.empty(0, dtype=torch.long))
    found = baselines.measure(Dataset("x", data.train, empty, data.test, ("a", "b")))
    assert found is not None
    assert (found.best("val"), found.mirrored, found.sentence("val")) == (None, None, "")
    tested = baselines.test(found, data)
    assert tested.best("test") is not None


def test_vectors_and_unlabelled_samples() -> None:
    x, y = torch.randn(60, 5), torch.arange(60) % 2
    part = Split(x, y)
    found = baselines.measure(Dataset("vectors", part, part, part, ("a", "b")))
    assert found is not None
    assert found.mirrored is None
    nothing = Split(x, None)
    assert baselines.measure(Dataset("none", nothing, nothing, nothing, ())) is None


def test_a_run_folder_keeps_them(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, True)
    assert baselines.read(folder) is None
    known = baselines.measure(pictures(True))
    assert known is not None
    baselines.keep(folder, known)
    assert baselines.read(folder) == known
    assert isinstance(known, Baselines)
