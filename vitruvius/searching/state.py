"""A search in progress: what was prepared, its folder and study, what it has learned so far."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitruvius.core.runs import RunFolder
from vitruvius.core.signals import StopRequest
from vitruvius.ranking import surrogate
from vitruvius.searching.plan import Plan
from vitruvius.searching.prepare import PRESET, Prepared, workers
from vitruvius.searching.results import Learned
from vitruvius.searching.study import Study

Floats = NDArray[np.float64]


@dataclass
class Search:
    """A search in progress."""

    prepared: Prepared
    folder: RunFolder
    study: Study
    stop: StopRequest
    lines: list[dict[str, Any]]
    allow_inexact: bool = False
    began: float = field(default_factory=time.monotonic)
    scores: dict[str, Floats] = field(default_factory=dict)
    """By score, in the order of `numbers`."""
    learned: list[Learned] = field(default_factory=list)
    ms: dict[int, tuple[float, bool]] = field(default_factory=dict)
    """Milliseconds by network, and whether they were measured."""

    @property
    def numbers(self) -> list[int]:
        """Return the numbers of the networks that may be chosen: all but the preset."""
        return [number for number in self.prepared.networks if number != PRESET]

    @property
    def plan(self) -> Plan:
        return self.prepared.plan

    @property
    def prior(self) -> dict[int, float]:
        """Return the mean rank of each network by a few scores, from 0 to 1."""
        return dict(zip(self.numbers, surrogate.prior(self.scores).tolist(), strict=True))

    @property
    def spent(self) -> float:
        """Return the seconds of this start and of those before."""
        times = [line.get("timing", {}).get("spent", 0.0) for line in self.lines]
        return max(times, default=0.0) + time.monotonic() - self.began

    def prices(self) -> dict[int, float] | None:
        """Return what the networks cost if a whole front is searched."""
        kind = self.prepared.config.front
        if kind is None:
            return None
        found = {}
        for number in self.numbers:
            candidate = self.prepared.networks[number]
            ms = self.ms.get(number, (float(candidate.macs), False))[0]
            found[number] = ms if kind == "ms" else float(getattr(candidate, kind))
        return found

    def seconds_left(self, networks: Sequence[tuple[int, int]]) -> float:
        """Return the seconds in which all workers train networks for so many steps."""
        return sum(self.seconds(networks))

    def seconds(self, networks: Sequence[tuple[int, int]]) -> list[float]:
        """Return the share of each network, and of so many steps, in the seconds of all workers."""
        share = self.slowness() / workers(self.prepared.config)
        return [share * self._seconds(number, steps) for number, steps in networks]

    def slowness(self) -> float:
        """Return how many times as long as predicted the trainings took that have ended; 1 before the first.

        The few steps that are timed beforehand have the machine for themselves; trainings share it.
        """
        took, foreseen, reached = 0.0, 0.0, dict[tuple[int, int], int]()
        for (number, steps, seed), outcome in sorted(self.study.finished().items()):  # shorter ones first
            if outcome.accuracy is not None and number in self.prepared.networks:
                took += outcome.seconds
                foreseen += self._seconds(number, steps - reached.get((number, seed), 0))
                reached[number, seed] = steps
        return took / foreseen if took > 0 and foreseen > 0 else 1.0

    def _seconds(self, number: int, steps: int) -> float:
        """Return the seconds of so many steps of a network by the steps that were timed beforehand."""
        config, candidate = self.prepared.config, self.prepared.networks[number]
        return self.prepared.pace.seconds(candidate.arch, config.batch, steps)
