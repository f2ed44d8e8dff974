"""What is left to spend of a search, and what it pays for."""

import statistics
from collections.abc import Sequence
from itertools import product

import numpy as np

from vitruvius.searching import plan, queueing
from vitruvius.searching.prepare import PRESET
from vitruvius.searching.state import Search

COMPARED = 0.5
"""The share of all work that the trainings of a network to compare with may take."""


def time_left(search: Search) -> float:
    """Return the seconds that are left: of --hours, or of the plan by the mean network."""
    if search.prepared.config.hours is not None:
        return max(0.0, 3600 * search.prepared.config.hours - search.spent)
    total = max(0, search.plan.total_steps - sum(queueing.steps_done(search).values()))
    numbers = search.numbers
    return search.seconds_left([(number, 1) for number in numbers]) * total / len(numbers)


def steps_left(search: Search, numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Return the steps that full trainings of these networks still need, first those with the first seed."""
    done = queueing.steps_done(search)
    trainings = product(range(plan.SEEDS), dict.fromkeys(numbers))
    return [(number, max(0, search.plan.steps - done.get((number, seed), 0))) for seed, number in trainings]


def paid_for(
    search: Search, levels: list[list[int]], numbers: Sequence[int], index: int, least: int = 0
) -> list[int]:
    """Return those of these networks, in their order, that --hours pay for; all without --hours.

    The first `least` are returned at any rate. One that is too dear keeps no cheaper one behind it waiting.
    What is counted: training them up to rung `index` or to the end, then a share of them further as planned;
    the finalists among the networks of the last rung; the networks to compare with.
    """
    hours, done = search.prepared.config.hours, queueing.steps_done(search)
    if hours is None or not numbers:
        return list(numbers)
    rungs, ended = search.plan.rungs, levels[-1] if index < len(levels) else []
    known = queueing.accuracies(search, rungs[-1].steps)
    best = sorted(ended, key=lambda number: (-known.get(number, 0.0), number))
    owed = best[: max(1, len(best) // plan.FACTOR)]
    compared = set(baselines(search).values())
    left = 3600 * hours - search.spent - search.seconds_left(steps_left(search, [*owed, *compared]))
    if index < len(rungs):
        work = [(number, max(0, rungs[index].steps - done.get((number, 0), 0))) for number in numbers]
    else:
        work = [(number, 0 if number in compared else steps) for number, steps in steps_left(search, numbers)]
    seconds_n = np.array(search.seconds(work)).reshape(-1, len(numbers)).sum(0)  # finalists: of both seeds
    paid: list[int] = []
    for number, seconds in zip(numbers, (search.plan.further(index) * seconds_n).tolist(), strict=True):
        if len(paid) < least or seconds <= left:
            paid.append(number)
            left -= seconds
    return paid


def baselines(search: Search) -> dict[str, int]:
    """Return networks to compare with: the largest that fits, the nearest preset, the median candidate.

    As many as what may be spent pays for; --hours by the networks that were trained so far.
    """
    found, trained = comparable(search), {number for number, _ in queueing.steps_done(search)}
    count, hours = search.plan.baselines, search.prepared.config.hours
    if hours is not None and trained:
        seconds = search.seconds_left([(number, search.plan.steps) for number in trained]) / len(trained)
        count = plan.baselines(3600 * hours / seconds)
    return dict(list(found.items())[:count])


def comparable(search: Search) -> dict[str, int]:
    """Return all networks that a search may be compared with, by what they are."""
    found = {"the largest network that fits": search.prepared.largest}
    if PRESET in search.prepared.networks and not is_too_dear(search, PRESET):
        found["the nearest preset"] = PRESET
    known = queueing.accuracies(search, search.plan.rungs[0].steps) if search.plan.rungs else search.prior
    ordered = sorted(known, key=lambda number: (known[number], number))
    if ordered and not is_too_dear(search, median := ordered[(len(ordered) - 1) // 2]):
        found["the median candidate"] = median
    return found


def is_too_dear(search: Search, number: int) -> bool:
    """Whether the trainings of a network would take more than half of all work, the median as the measure."""
    return plan.SEEDS * relative_price(search, number) > COMPARED * search.plan.trainings


def relative_price(search: Search, number: int) -> float:
    """Return the multiply-adds of a network, divided by the median of the candidates."""
    networks = search.prepared.networks
    return networks[number].macs / statistics.median(networks[one].macs for one in search.numbers)
