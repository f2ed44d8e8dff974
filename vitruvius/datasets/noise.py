"""Gaussian noise with random labels, for scoring without data: `noise:3x32x32`, `noise:3x32x32/CLASSES`."""

import hashlib
import re

import numpy as np
import torch

from vitruvius.core.errors import UserError
from vitruvius.datasets import Dataset, Split, _samples

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
        usage = "write CHANNELSxHEIGHTxWIDTH, with /CLASSES if not 10, as in noise:3x32x32/100"
        raise UserError(f"noise:{shape}: {usage}")
    channels, height, width, classes = (int(number) for number in match.groups("10"))
    _samples.refuse_if_too_big(f"noise:{shape}, {SAMPLES} samples,", 4 * SAMPLES * channels * height * width)
    random = np.random.default_rng(seed)
    x = random.standard_normal((SAMPLES, channels, height, width), dtype=np.float32)
    y = random.integers(classes, size=SAMPLES)
    digest = hashlib.sha256(x.data)
    digest.update(y.data)
    samples, labels = torch.from_numpy(x), torch.from_numpy(y)
    test = Split(samples[-TEST:], labels[-TEST:])
    return _samples.dataset(
        *(samples[:-TEST], labels[:-TEST], test, validation, VALIDATION),
        name=f"noise:{channels}x{height}x{width}/{classes}",
        classes=tuple(map(str, range(classes))),
        source=f"{SAMPLES} pictures drawn with seed {seed}",
        sha256=digest.hexdigest(),
    )
