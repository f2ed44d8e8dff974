"""Noise: shapes and classes as asked, standard normal pixels."""

import pytest
import torch

from vitruvius import datasets
from vitruvius.arch import cost
from vitruvius.core.errors import UserError


def test_default_is_ten_classes_of_small_colour_pictures() -> None:
    data = datasets.get("noise")
    assert data.name == "noise:3x32x32/10"
    assert data.shape == (3, 32, 32)
    assert len(data.classes) == 10
    assert [len(part) for part in (data.train, data.validation, data.test)] == [512, 128, 128]


def test_shape_and_classes_can_be_asked_for() -> None:
    data = datasets.get("noise:1x28x20/100")
    assert data.shape == (1, 28, 20)
    assert len(data.classes) == 100


def test_pixels_are_standard_normal_and_independent_of_the_label() -> None:
    data = datasets.get("noise")
    x = data.train.x
    assert x.dtype == torch.float32
    assert abs(float(x.mean())) < 0.005
    assert float(x.std()) == pytest.approx(1, abs=0.005)
    assert float((x.abs() > 1.96).float().mean()) == pytest.approx(0.05, abs=0.002)


def test_another_seed_draws_other_pictures_and_labels() -> None:
    first, second = datasets.get("noise", seed=0), datasets.get("noise", seed=1)
    assert first.sha256 != second.sha256
    assert first.train.y is not None
    assert second.train.y is not None
    assert not torch.equal(first.train.y, second.train.y)


@pytest.mark.parametrize(
    "shape", ["3", "3x32", "0x32x32", "3x32x32/0", "3x32x32/", "3x32x-1", "axbxc", "9" * 5000]
)
def test_other_words_are_refused(shape: str) -> None:
    with pytest.raises(UserError, match="CHANNELSxHEIGHTxWIDTH"):
        datasets.get(f"noise:{shape}")


def test_too_much_for_the_memory_is_refused_with_the_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "memory_bytes", lambda: 2**30)
    with pytest.raises(
        UserError, match=r"noise:3x1000x1000.* would need 8.6 GiB.*half of this machine's 1.0 GiB"
    ):
        datasets.get("noise:3x1000x1000")
