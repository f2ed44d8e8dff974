r"""Rotated Gaussian vectors: 20 of 100 hidden directions have ten times the variance and decide the label.

$z \sim N(0, \mathrm{diag}(10 \cdot 1_{20}, 1_{80}))$, the sample is $x = z U$ with a random rotation $U$, and
the label is $[\sum_{i \le 20} z_i > 0]$; the total variance is $20 \cdot 10 + 80 = 280$. A linear autoencoder
with a latent width of 20 can keep the label, and principal component analysis is its optimum.
"""

import hashlib

import numpy as np
import torch

from vitruvius.datasets import Dataset, Split, _samples

SAMPLES, TEST, VALIDATION = 20_000, 2_000, 4_000
DIMENSIONS, DECIDING = 100, 20
VARIANCE = 10.0


def synthetic(*, data_dir: str | None = None, validation: int | None = None, seed: int = 0) -> Dataset:
    """Draw the 100-dimensional set of the autoencoder assignment: 14,000 / 4,000 / 2,000 by position.

    The distribution is the assignment's; the numbers come from numpy's Generator, not from its global state,
    so they are other draws than the notebook's. Nothing is read: `data_dir` changes nothing.
    """
    random = np.random.default_rng(seed)
    z = random.standard_normal((SAMPLES, DIMENSIONS))
    square = random.standard_normal((DIMENSIONS, DIMENSIONS))
    digest = hashlib.sha256(z.data)
    digest.update(square.data)
    z[:, :DECIDING] *= VARIANCE**0.5
    x = torch.from_numpy((z @ np.linalg.svd(square)[0]).astype(np.float32))
    y = torch.from_numpy((z[:, :DECIDING].sum(1) > 0).astype(np.int64))
    return _samples.dataset(
        *(x[:-TEST], y[:-TEST], Split(x[-TEST:], y[-TEST:]), validation, VALIDATION),
        name="synthetic",
        classes=("negative", "positive"),
        source=f"{SAMPLES:,} vectors of {DIMENSIONS} numbers drawn with seed {seed}",
        sha256=digest.hexdigest(),
    )
