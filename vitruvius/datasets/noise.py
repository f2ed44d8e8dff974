"""Gaussian noise with random labels, for scoring without data: `noise:3x32x32`, `noise:3x32x32/CLASSES`."""

import hashlib
import re

import numpy as np
import torch

from vitruvius.core.errors import UserError
from vitruvius.datasets import Dataset, Split, _pixels, _splits

SAMPLES, TEST, VALIDATION = 768, 128, 128
SHAPE = re.compile(r"([1-9]\d{0,4})x([1-9]\d{0,4})x([1-9]\d{0,4})(?:/([1-9]\d{0,4}))?")


def noise(
    shape: str = "3x32x32", *, data_dir: str | None = None, validation: int | None = None, seed: int = 0
) -> Dataset:
    """Draw pictures whose pixels are N(0, 1), used as they are: channels x height x width / classes (10).

    512 / 128 / 128 samples, float32. Nothing is read: `data_dir` changes nothing.
    """
    match = SHAPE.fullmatch(shape)
    if match is None:
        raise UserError(
            f"noise:{shape}: write CHANNELSxHEIGHTxWIDTH, with /CLASSES if not 10, as in noise:3x32x32/100"
        )
    channels, height, width, classes = (int(number) for number in match.groups("10"))
    sizes = (SAMPLES, channels, height, width)
    _pixels.refuse_if_too_big(f"noise:{shape}, {SAMPLES} samples,", 4 * SAMPLES * channels * height * width)
    random = np.random.default_rng(seed)
    x, y = random.standard_normal(sizes, dtype=np.float32), random.integers(classes, size=SAMPLES)
    digest = hashlib.sha256(x.data)
    digest.update(y.data)
    samples, labels = torch.from_numpy(x), torch.from_numpy(y)
    known = SAMPLES - TEST
    train, put_aside = _splits.put_aside(samples[:known], labels[:known], validation, VALIDATION)
    return Dataset(
        name=f"noise:{channels}x{height}x{width}/{classes}",
        train=train,
        validation=put_aside,
        test=Split(samples[known:], labels[known:]),
        classes=tuple(str(label) for label in range(classes)),
        source=f"{SAMPLES} pictures drawn with seed {seed}",
        sha256=digest.hexdigest(),
    )
