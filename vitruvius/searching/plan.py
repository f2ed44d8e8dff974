"""How a search spends its trainings: rungs of successive halving, finalists, networks to compare with.

A training has T steps. Networks are trained for T/8; a quarter of them goes on to T/2, a quarter of those to
the end (Jamieson and Talwalkar 2016, with factor 4). The schedule of a training does not depend on where it
pauses, so that what goes on is never started again."""

from itertools import pairwise

from vitruvius.core import records
from vitruvius.core.config import Strict
from vitruvius.core.errors import UserError
from vitruvius.measuring.prices import PriceList

FACTOR = 4
FRACTIONS = (8, 2)
"""Rungs are at 1/8 and 1/2 of a training: an eighth orders networks better than every zero-cost score."""
SEEDS = 2
"""Trainings of a finalist."""
NEEDED_FOR = (4, 10, 14)
"""Trainings from which on the largest network that fits, the nearest preset and the median candidate are
trained fully too, to be compared with."""
DEFAULT = 20
FRONT_FINALISTS = (2, 4)
"""Fewest and most finalists of a front, whose full trainings get about two thirds of what may be spent."""


class Rung(Strict):
    """So many networks are trained for so many steps."""

    steps: int
    networks: int


class Plan(records.Record):
    """What a search spends its trainings on."""

    trainings: float
    """What may be spent, in full trainings."""
    steps: int
    """Of a full training."""
    rungs: tuple[Rung, ...]
    """Empty where the budget allows full trainings of a few networks only."""
    finalists: int
    baselines: int
    """How many of the largest, the preset and the median candidate are trained to be compared with."""
    prices: PriceList | None = None
    """The price list by which milliseconds were predicted: a resumed search draws the same networks by it."""

    @property
    def short(self) -> int:
        """Return how many networks are trained at all, before the finalists."""
        return self.rungs[0].networks if self.rungs else self.finalists

    @property
    def total_steps(self) -> int:
        """Return the optimiser steps of all trainings of the plan at most."""
        return _steps(self.rungs, self.finalists, self.steps) + SEEDS * self.baselines * self.steps

    def further(self, index: int) -> float:
        """Return the steps of a rung and of all that follows it, divided by those of the rung alone.

        Of the networks of a rung a quarter goes on to the next; the finalists, after the last, are trained
        with two seeds.
        """
        ends = [0, *(rung.steps for rung in self.rungs)]
        steps = [end - begin for begin, end in pairwise(ends)]
        steps.append(self.steps - ends[-1] + (SEEDS - 1) * self.steps)
        whole = sum(count / FACTOR**later for later, count in enumerate(steps[index:]))
        return whole / steps[index]


def make(trainings: float, steps: int, available: int, front: bool = False) -> Plan:
    """Return the plan with the most networks that `trainings` full trainings pay for.

    >>> plan = make(20, 800, 1000)
    >>> [(rung.steps, rung.networks) for rung in plan.rungs], plan.finalists
    ([(100, 47), (400, 11)], 2)
    """
    if trainings < SEEDS:
        raise UserError(
            f"no time left: the budget pays for {trainings:.2g} trainings, and a search needs {SEEDS}; "
            "raise --hours, or lower --epochs or the budget of the network"
        )
    compared = baselines(trainings)
    left = trainings - SEEDS * compared
    fewest, most = FRONT_FINALISTS
    least = min(most, max(fewest, int(left) // 3)) if front else 1
    found = None
    for count in range(FACTOR, available + 1):
        rungs, finalists = _halved(count, steps, least)
        if not rungs or _steps(rungs, finalists, steps) > left * steps:
            break
        found = rungs, finalists
    rungs, finalists = found or ((), max(1, min(available, int(left) // SEEDS)))
    return Plan(trainings=trainings, steps=steps, rungs=rungs, finalists=finalists, baselines=compared)


def longest_warmup(steps: int) -> int:
    """Return half of the shortest training: a network that has not seen the full rate cannot be judged by it.

    >>> longest_warmup(4300)
    268
    """
    return max(1, steps // (2 * max(FRACTIONS)))


def baselines(trainings: float) -> int:
    """Return how many networks to compare with so many full trainings pay for."""
    return sum(trainings >= needed for needed in NEEDED_FOR)


def _halved(count: int, steps: int, least: int) -> tuple[tuple[Rung, ...], int]:
    """Return the rungs that begin with `count` networks, and the finalists: at least so many."""
    lengths = sorted({max(1, steps // fraction) for fraction in FRACTIONS} - {steps})
    rungs = []
    for length in lengths:
        rungs.append(Rung(steps=length, networks=count))
        count = max(min(count, least), count // FACTOR)
    return tuple(rungs), count


def _steps(rungs: tuple[Rung, ...], finalists: int, steps: int) -> int:
    """Return the steps of all rungs and finalists; each rung goes on from the one before."""
    total, before = 0, 0
    for rung in rungs:
        total += rung.networks * (rung.steps - before)
        before = rung.steps
    return total + finalists * (steps - before) + finalists * (SEEDS - 1) * steps
