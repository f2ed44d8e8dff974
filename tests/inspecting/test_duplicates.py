"""Near-duplicates: the hash against a cosine transform by scipy, pairs against brute force, and limits."""

import io

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.fft import dctn
from torch import Tensor

from vitruvius.datasets import Dataset, Split
from vitruvius.inspecting import duplicates


def smooth(seed: int, count: int = 1, side: int = 48) -> Tensor:
    """Pictures of soft shapes: noise of 12 x 12 pixels, enlarged."""
    noise = torch.rand(count, 3, 12, 12, generator=torch.Generator().manual_seed(seed)) * 255
    large = torch.nn.functional.interpolate(noise, (side, side), mode="bilinear", align_corners=False)
    return large.to(torch.uint8)


def dataset(train: Tensor, validation: Tensor, test: Tensor) -> Dataset:
    parts = [Split(x, torch.arange(len(x)) % 2) for x in (train, validation, test)]
    return Dataset("mine", parts[0], parts[1], parts[2], ("a", "b"))


def test_the_hash_is_the_sign_of_low_frequencies() -> None:
    x = smooth(0, 5, side=32)
    values, _ = duplicates.hashes(x)
    for image, value in zip(x.double().mean(1).numpy(), values.tolist(), strict=True):
        low = dctn(image, type=2)[1:9, 1:9].ravel()
        ordered = np.sort(low)
        expected = sum(1 << bit for bit, one in enumerate(low) if one > ordered[31])
        assert value == expected


def recompressed(x: Tensor) -> Tensor:
    buffer = io.BytesIO()
    Image.fromarray(x.permute(1, 2, 0).numpy()).save(buffer, "JPEG", quality=85)
    again = np.asarray(Image.open(buffer))
    return torch.from_numpy(again.copy()).permute(2, 0, 1)


def test_recompressed_and_darker_copies_are_found_in_other_parts_and_nothing_else() -> None:
    train, validation, test = smooth(1, 40), smooth(2, 10), smooth(3, 10)
    validation[4] = recompressed(train[7])
    test[2] = train[30] // 2 + 20
    test[9] = validation[1]
    found = duplicates.compare(dataset(train, validation, test))
    pairs = {(pair.part, pair.name, pair.other_part, pair.other) for pair in found.duplicates}
    assert pairs == {
        ("train", "image 7", "validation", "image 4"),
        ("train", "image 30", "test", "image 2"),
        ("validation", "image 1", "test", "image 9"),
    }
    assert (found.count("validation"), found.count("test")) == (1, 2)
    assert (found.images, found.left_out, found.is_complete) == (60, 0, True)


def test_bands_find_every_pair_within_six_bits_once() -> None:
    rng = np.random.default_rng(0)
    near: list[int] = []
    base = [int(value) for value in rng.integers(0, 2**63, 30, dtype=np.uint64)]
    for value in base:
        bits = rng.choice(64, int(rng.integers(0, 11)), replace=False)
        near.append(value ^ sum(1 << int(bit) for bit in bits))
    one = duplicates.Hashed("train", list(range(30)), base)
    other = duplicates.Hashed("test", list(range(30)), near)
    found = list(duplicates._candidates(one, other))
    expected = [(i, j) for i, a in enumerate(base) for j, b in enumerate(near) if (a ^ b).bit_count() <= 6]
    assert sorted(found) == sorted(expected)
    assert len(expected) > 5


def test_pictures_without_contrast_are_no_duplicates() -> None:
    flat = torch.full((5, 3, 8, 8), 7, dtype=torch.uint8)
    found = duplicates.compare(dataset(flat, flat, flat))
    assert (found.duplicates, found.images) == ((), 0)


def test_the_cost_is_limited_by_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    x = smooth(4, 20)
    monkeypatch.setattr(duplicates, "MOST_IMAGES", 30)
    found = duplicates.compare(dataset(x, x, x))
    assert found.left_out == 30
    assert found.images == 30
    monkeypatch.setattr(duplicates, "MOST_IMAGES", 1000)
    monkeypatch.setattr(duplicates, "MOST_PAIRS", 3)
    found = duplicates.compare(dataset(x, x, x))
    assert not found.is_complete
    assert len(found.duplicates) <= 9


def test_vectors_are_not_compared() -> None:
    x = torch.randn(4, 5)
    assert duplicates.compare(dataset(x, x, x)).images == 0
