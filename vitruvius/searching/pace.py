"""How long trainings take, predicted from a few timed steps before anything is trained."""

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vitruvius.arch import cost
from vitruvius.arch.arch import Arch
from vitruvius.datasets import Dataset
from vitruvius.searching import trials
from vitruvius.searching.trials import Training
from vitruvius.training import device, loop

TIMED = 3
"""Steps that are timed, after one that is not."""


class Pace(NamedTuple):
    """Seconds of a step: a share for each layer and a share for each multiply-add of the batch."""

    per_layer: float
    per_mac: float

    def seconds(self, arch: Arch, batch: int, steps: int) -> float:
        """Return the predicted seconds of so many steps."""
        macs = cost.cost(arch).macs * batch
        return steps * (self.per_layer * (arch.depth + 1) + self.per_mac * macs)


def measure(settings: Sequence[Training], data: Dataset, batch: int) -> Pace:
    """Time a few steps of a few networks, with one thread as the trainings have; nothing is kept."""
    rows, seconds = [], []
    with device.threads(1):
        for config in settings:
            job = trials.new_job(config, data)
            order = job.train.order(0)[:batch]
            loop.step(job, order)
            began = time.perf_counter()
            for _ in range(TIMED):
                loop.step(job, order)
            seconds.append((time.perf_counter() - began) / TIMED)
            arch = config.resolve(data)
            rows.append((float(arch.depth + 1), float(cost.cost(arch).macs * len(order))))
    return fit(rows, seconds)


def fit(rows: Sequence[tuple[float, float]], seconds: Sequence[float]) -> Pace:
    """Return the pace that fits seconds of (layers, multiply-adds) best, neither share below zero.

    >>> pace = fit([(2, 10), (4, 100)], [2.0 + 1.0, 4.0 + 10.0])
    >>> round(pace.per_layer, 6), round(pace.per_mac, 6)
    (1.0, 0.1)
    """
    from scipy.optimize import nnls

    matrix = np.array(rows, dtype=float)
    scale = matrix.max(0)
    found, _ = nnls(matrix / scale, np.array(seconds))
    return Pace(*(round(float(value), 15) for value in found / scale))
