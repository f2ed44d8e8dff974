"""The images that a classifier gets most confidently wrong, with what it attends to in them.

Shapes: C channels, H and W the image's sides.
"""

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from vitruvius.datasets import Split
from vitruvius.training import predictor
from vitruvius.training.predictor import Predictor
from vitruvius.training.results import Mistake


class Shown(NamedTuple):
    """One wrong image: what it is and what the model says, its pixels in 0..1, and the heat map over it."""

    mistake: Mistake
    pixels: Sequence[Sequence[Sequence[float]]]
    heat: Sequence[Sequence[float]]


def shown(model: Predictor, images: Split, wrong: Sequence[Mistake]) -> list[Shown]:
    """Return the wrong images with the attention rollout of each."""
    found = []
    for mistake in wrong:
        raw_CHW = images.x[mistake.index].cpu()
        bright = raw_CHW.float() / 255 if not raw_CHW.is_floating_point() else raw_CHW.float()
        heat = dict(predictor.heat_maps(model, bright))["rollout"]
        found.append(Shown(mistake, _between_0_and_1(bright).tolist(), heat.tolist()))
    return found


def _between_0_and_1(x_CHW: Tensor) -> Tensor:
    low, high = x_CHW.min(), x_CHW.max()
    return x_CHW if low >= 0 and high <= 1 else (x_CHW - low) / (high - low).clamp(min=1e-12)
