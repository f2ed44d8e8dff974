r"""Fit the price list of this machine: time small networks, then solve for the prices that predict them best.

Prices minimise $\sum_i (\hat t_i / t_i - 1)^2$ over $p \ge 0$: relative errors, so that a network of a tenth
of a millisecond counts as much as one of a hundred. What the fit is worth is measured on networks that it has
not seen: each is left out once, with all its batch sizes.
"""

import math
import random
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import count
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from vitruvius.arch import cost
from vitruvius.arch.arch import Arch
from vitruvius.arch.tables import Named
from vitruvius.core.errors import WorkFailed
from vitruvius.measuring import prices
from vitruvius.measuring.latency import Item
from vitruvius.measuring.prices import PriceList
from vitruvius.measuring.results import Machine
from vitruvius.measuring.settings import MeasureSettings

NETWORKS = 30
LARGEST_MACS, SMALLEST_MACS = 1e8, 3e4
FEWEST_NETWORKS = 3
DEEPEST = 12
Floats = NDArray[np.float64]


class Timed(NamedTuple):
    """A network that was timed with one batch size."""

    arch: Arch
    batch: int
    ms: float


def networks(number: int = 0, seed: int = 0) -> list[Named]:
    """Draw `number` small networks (0: thirty), from 30 thousand to 100 million multiply-adds.

    They spread evenly on a log scale: each is the first of its stream that falls into its own slice of that
    range, so that none is missing.
    """
    number = number or NETWORKS
    step = math.log(LARGEST_MACS / SMALLEST_MACS) / number
    found = []
    for index in range(number):
        low = SMALLEST_MACS * math.exp(step * index)
        high = low * math.exp(step)
        drawn = _draws(random.Random(f"calibration {seed} {index}"), math.sqrt(low * high))
        inside = (arch for arch in drawn if low <= cost.cost(arch).macs < high)
        found.append(Named(f"calibration-{seed}-{index}", next(inside)))
    return found


def _draws(drawn: random.Random, macs: float) -> Iterator[Arch]:
    """Networks of all shapes: few and many tokens, narrow and wide heads; as deep as `macs` allow."""
    for _ in count():
        patch = drawn.choice((4, 7, 8, 14, 16))
        width = 8 * round(math.exp(drawn.uniform(math.log(2), math.log(40))))
        shallow = Arch(
            image=patch * drawn.randint(2, 14),
            channels=drawn.choice((1, 3)),
            patch=patch,
            width=width,
            depth=1,
            heads=drawn.choice((1, 2, 4, 8)),
            head_dim=drawn.choice((None, 16, 32, 64)),
            mlp=round(width * drawn.choice((1, 2, 3, 4))),
            class_token=(token := drawn.random() < 0.5),
            pooling="cls" if token else "mean",
        )
        depth = max(1, min(DEEPEST, round(macs / cost.cost(shallow).macs)))
        yield shallow.with_fields(depth=depth)


def price_list(items: Sequence[Item], settings: MeasureSettings, machine: Machine) -> PriceList:
    """Fit the prices of this machine to networks that were timed."""
    # Others make calls slower, never faster: on a busy machine the fastest call says what the network costs.
    typical = min if machine.is_busy else median
    timed = [Timed(item.named.arch, item.batch, typical(item.calls_ms)) for item in items if item.calls_ms]
    found, error = fit(timed)
    return PriceList(
        machine=prices.fingerprint(),
        device=machine.device,
        threads=machine.threads,
        is_busy=machine.is_busy,
        networks=len({one.arch for one in timed}),
        batch=settings.batch,
        prices=found,
        error=error,
        date=date.today().isoformat(),
    )


def fit(timed: Sequence[Timed]) -> tuple[dict[str, float], float]:
    """Return the price of each quantity, and the median relative error over networks left out of the fit."""
    archs = list(dict.fromkeys(one.arch for one in timed))
    if len(archs) < FEWEST_NETWORKS:
        raise WorkFailed(f"--calibrate: {FEWEST_NETWORKS} networks are needed, {len(archs)} could be timed")
    rows = _relative_quantities(timed)
    errors: list[float] = []
    for arch in archs:
        is_left_out = np.array([one.arch == arch for one in timed])
        errors += np.abs(rows[is_left_out] @ _solve(rows[~is_left_out]) - 1).tolist()
    return dict(zip(prices.QUANTITIES, _solve(rows).tolist(), strict=True)), float(np.median(errors))


def _relative_quantities(timed: Sequence[Timed]) -> Floats:
    """Return the quantities of each call over its milliseconds: times the prices, they should be 1."""
    quantities = np.array([prices.quantities(one.arch, one.batch) for one in timed])
    return quantities / np.array([[one.ms] for one in timed])


def _solve(rows: Floats) -> Floats:
    """Solve the non-negative least squares; columns are scaled, as quantities differ by nine decades."""
    scale = np.linalg.norm(rows, axis=0)
    scale[scale == 0] = 1
    found, _ = nnls(rows / scale, np.ones(len(rows)))
    return np.asarray(found / scale)
