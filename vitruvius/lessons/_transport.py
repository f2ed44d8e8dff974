"""Exact transport plans: the shortest way first, then exchanges along rounds until none pays.

A plan has a row for each supply and a column for each demand; distances may be rounded (roots), masses are exact.
"""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import NamedTuple

from vitruvius.lessons._exact import Number

SLACK = 1e-12
"""Two ways that differ by less are equally long: distances with roots are rounded."""
Plans = list[list[Fraction]]
Costs = list[list[Number]]


class Exchange(NamedTuple):
    """A round of ways along which mass is sent and taken back by turns."""

    ways: int
    amount: Fraction
    gain: Number  # what each unit of mass saves


def shortest_first(given: list[Fraction], wanted: list[Fraction], costs: Costs) -> Plans:
    """The tempting plan: as much as possible along the shortest way, then along the next."""
    left, missing = list(given), list(wanted)
    plan = [[Fraction(0)] * len(wanted) for _ in given]
    pairs = [(i, j) for i in range(len(given)) for j in range(len(wanted))]
    for i, j in sorted(pairs, key=lambda pair: costs[pair[0]][pair[1]]):
        plan[i][j] = min(left[i], missing[j])
        left[i] -= plan[i][j]
        missing[j] -= plan[i][j]
    return plan


def exchanged(plan: Plans, costs: Costs) -> Iterator[Exchange]:
    """Make a plan of balanced masses cheaper, round by round, until no round pays."""
    while True:
        _, cycle = _cheapest_round(plan, costs)
        if not cycle:
            return
        yield Exchange(len(cycle), *_exchange(plan, costs, cycle))


def potentials(plan: Plans, costs: Costs) -> tuple[list[Number], list[Number]]:
    """Prices u of the supplies and v of the demands of an optimal plan: no u + v exceeds its distance."""
    level, _ = _cheapest_round(plan, costs)
    return [-value for value in level[: len(plan)]], level[len(plan) :]


def work(plan: Plans, costs: Costs) -> Number:
    """Mass times distance, added up."""
    pairs = [(mass, cost) for row, line in zip(plan, costs, strict=True) for mass, cost in zip(row, line, strict=True)]
    return sum((mass * cost for mass, cost in pairs if mass), Fraction(0))


def total(masses: Iterable[Fraction]) -> Fraction:
    """The sum, exact also if there is nothing to add."""
    return sum(masses, Fraction(0))


def _cheapest_round(plan: Plans, costs: Costs) -> tuple[list[Number], list[int]]:
    """Bellman and Ford: potentials of all points, or a round of negative length if there is one.

    A way leads from supply to demand at its distance, and back, where mass flows, at minus its distance.
    """
    sources, nodes = len(plan), len(plan) + len(plan[0])
    pairs = [(i, sources + j, cost, plan[i][j]) for i, row in enumerate(costs) for j, cost in enumerate(row)]
    ways = [way for i, j, cost, mass in pairs for way in ((i, j, cost), *([(j, i, -cost)] if mass else []))]
    level: list[Number] = [Fraction(0)] * nodes
    before, last = [-1] * nodes, -1
    for _ in range(nodes):
        last = -1
        for start, end, length in ways:
            if level[start] + length < level[end] - SLACK:
                level[end], before[end], last = level[start] + length, start, end
        if last < 0:
            return level, []
    for _ in range(nodes):
        last = before[last]  # now on the round, not only behind it
    cycle = [last]
    while before[cycle[0]] != last:
        cycle.insert(0, before[cycle[0]])
    return level, cycle


def _exchange(plan: Plans, costs: Costs, cycle: list[int]) -> tuple[Fraction, Number]:
    """Send as much as possible round the cycle; returns the mass and what each unit saves."""
    sources = len(plan)
    steps = list(zip(cycle, [*cycle[1:], cycle[0]], strict=True))
    there = [(a, b - sources) for a, b in steps if a < sources]
    back = [(b, a - sources) for a, b in steps if a >= sources]
    amount = min(plan[i][j] for i, j in back)
    gain = sum((costs[i][j] for i, j in back), Fraction(0)) - sum((costs[i][j] for i, j in there), Fraction(0))
    for sign, pairs in ((1, there), (-1, back)):
        for i, j in pairs:
            plan[i][j] += sign * amount
    return amount, gain
