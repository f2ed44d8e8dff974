"""Mean and deviation of pixels, against numpy."""

import numpy as np
import pytest
import torch

from vitruvius.datasets import _pixels


def test_statistics_equal_those_of_numpy_per_channel() -> None:
    x = np.random.default_rng(0).integers(256, size=(7, 3, 5, 4), dtype=np.uint8)
    x[:, 1] //= 3
    mean, std = _pixels.mean_std(torch.from_numpy(x))
    assert mean == pytest.approx((x / 255).mean((0, 2, 3)).tolist(), rel=1e-12)
    assert std == pytest.approx((x / 255).std((0, 2, 3)).tolist(), rel=1e-12)


def test_a_constant_channel_is_not_divided_by_zero() -> None:
    assert _pixels.mean_std(torch.full((3, 1, 2, 2), 51, dtype=torch.uint8)) == ((0.2,), (1.0,))
