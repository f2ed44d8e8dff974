r"""The earth mover's distance: an optimal transport plan, and prices that prove that no plan is cheaper.

Minimise $\sum_{ij} T_{ij} c_{ij}$ over plans $T$ whose row $i$ adds up to supply $s_i$ and column $j$ to demand $d_j$.
Dual: with potentials $u_i + v_j \leq c_{ij}$ every plan costs at least $\sum_i s_i u_i + \sum_j d_j v_j$.
"""

from collections.abc import Generator, Iterator
from fractions import Fraction
from typing import Any, Self

from pydantic import model_validator

from vitruvius import lessons
from vitruvius.core.blocks import TransportPlan
from vitruvius.lessons import Answer, Exact, Proof, Step, Vector, _board, exact
from vitruvius.lessons._board import short
from vitruvius.lessons._exact import Number, root
from vitruvius.lessons._proofs import agree, holds
from vitruvius.lessons._transport import (
    SLACK,
    Costs,
    Plans,
    exchanged,
    potentials,
    shortest_first,
    total,
    work,
)

SUBJECT = "optimal transport"
MOST = 16
Mass = tuple[Exact | Vector, Exact]
"""A point (a number or its coordinates) and the mass that lies or is wanted there."""


class Question(lessons.Question):
    """Two piles of mass, as [point, mass] each."""

    supply: tuple[Mass, ...] = exact((((0, 0), 3), ((4, 0), 3), ((12, 9), 2)))
    demand: tuple[Mass, ...] = exact((((4, 3), 3), ((12, 0), 3), ((0, 9), 2)))
    partial: bool = False
    """Allow unequal totals: only the smaller one is moved, at the least work."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for field in ("supply", "demand"):
            pile = getattr(self, field)
            if not 1 <= len(pile) <= MOST:
                raise ValueError(f"{field} has {len(pile)} points: needs 1 to {MOST}")
            for _, mass in pile:
                if mass <= 0:
                    raise ValueError(f"{field} has a mass of {mass}: every mass must be above 0")
        sizes = {len(place) for place in (*self.places("supply"), *self.places("demand"))}
        if len(sizes) > 1 or 0 in sizes:
            raise ValueError(
                f"supply and demand have points of {sorted(sizes)} coordinates: all need as many, at least 1"
            )
        given, wanted = (total(self.masses(field)) for field in ("supply", "demand"))
        if given != wanted and not self.partial:
            raise ValueError(f"supply has mass {given}, demand {wanted}: both need the same, or partial=true")
        return self

    def places(self, field: str) -> list[Vector]:
        """The coordinates of a pile's points."""
        return [place if isinstance(place, tuple) else (place,) for place, _ in getattr(self, field)]

    def masses(self, field: str) -> list[Fraction]:
        """The masses of a pile."""
        return [mass for _, mass in getattr(self, field)]


def solve(question: Question) -> Iterator[Step | Answer]:
    """Distances, a tempting plan, exchanges that make it cheaper, the certificate that nothing is left to gain."""
    given, wanted = question.masses("supply"), question.masses("demand")
    moved = min(total(given), total(wanted))
    squares = [[_square(a, b) for b in question.places("demand")] for a in question.places("supply")]
    costs = [[root(square) for square in row] for row in squares]
    rest = "" if total(given) == total(wanted) else f" Only {moved} can be moved, the rest stays where it is."
    yield Step(
        says=f"Mass {total(given)} lies at {len(given)} points, mass {total(wanted)} is wanted at {len(wanted)}."
        f"{rest} First the Euclidean distances, {short(costs[0][0])} for the first pair.",
        formula=rf"s = {_board.row(given)}, \quad d = {_board.row(wanted)}, \quad c = "
        f"{_board.matrix([[_written(square) for square in row] for row in squares])}",
        value=costs,
    )
    plan = shortest_first(given, wanted, costs)
    yield Step(
        says="A tempting plan takes the shortest way first, as much as it can carry, then the next. Work is mass times "
        f"distance: {short(work(plan, costs))}.",
        formula=rf"T = {_board.matrix(plan)}, \quad {_sum(plan, squares)} = {_board.number(work(plan, costs))}",
        value=plan,
    )
    prices = yield from _exchanges(question, plan, costs)
    least = work(plan, costs)
    yield Step(
        says=f"This is the plan: {short(least)} in all, {short(least / moved)} for each of {moved} units of mass. The "
        "work per unit of mass is the earth mover's distance.",
        formula=rf"T = {_board.matrix(plan)}, \quad {_sum(plan, squares)} = {_board.number(least)}",
        value={"plan": plan, "work": least, "distance": least / moved},
        figure=_picture(question, plan, least),
    )
    yield _certificate(prices, plan, costs, least)
    yield Answer(fields={"work": least, "distance": least / moved, "plan": plan, "potentials": prices})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """Feasibility, duality, complementary slackness, and a linear programme."""
    import numpy as np
    from scipy.spatial.distance import cdist

    given, wanted = (np.array(question.masses(field), dtype=float) for field in ("supply", "demand"))
    places = [np.array(question.places(field), dtype=float) for field in ("supply", "demand")]
    costs = cdist(places[0], places[1])
    plan = np.array(answer["plan"], dtype=float)
    u, v = (np.array(answer["potentials"][field], dtype=float) for field in ("supply", "demand"))
    sent, received = plan.sum(1), plan.sum(0)
    left_u, left_v = given - sent > SLACK * given, wanted - received > SLACK * wanted
    moved = min(given.sum(), wanted.sum())
    full = [moved, *given[~left_u], *wanted[~left_v]]
    yield agree("all is moved", "sums of the plan", [plan.sum(), *sent[~left_u], *received[~left_v]], full)
    yield holds(
        "nothing flows backwards", "signs of the plan", bool((plan >= 0).all()), f"smallest entry {plan.min():g}"
    )
    yield agree("work", "plan times scipy's cdist", answer["work"], (plan * costs).sum())
    yield agree("work", "value of the dual, u s + v d", answer["work"], u @ given + v @ wanted)
    slack = (costs - u[:, None] - v).min()
    yield holds("no price exceeds its distance", "dual feasibility", slack >= -1e-9, f"smallest slack {slack:.3g}")
    used = np.argwhere(plan > SLACK * moved)
    prices = [u[i] + v[j] for i, j in used] + [*u[left_u], *v[left_v]]
    lengths = [costs[i, j] for i, j in used] + [0.0] * int(left_u.sum() + left_v.sum())
    yield agree("prices on used ways, 0 where mass is left", "complementary slackness", prices, lengths)
    programme = _programme(given, wanted, costs)
    yield agree("work", "linear programme (HiGHS)", answer["work"], programme)
    yield agree("distance", "linear programme per unit of mass", answer["distance"], programme / moved)
    if all(mass.denominator == 1 for field in ("supply", "demand") for mass in question.masses(field)):
        whole = bool((plan == plan.round()).all())
        yield holds("whole masses are moved whole", "rounding the plan", whole, f"{len(used)} ways are used")


def _programme(given: Any, wanted: Any, costs: Any) -> float:
    """The least work as scipy finds it; the larger side need not be used up."""
    import numpy as np
    from scipy.optimize import linprog

    rows, columns = costs.shape
    leaving = np.kron(np.eye(rows), np.ones(columns))
    arriving = np.kron(np.ones(rows), np.eye(columns))
    sides = [(leaving, given), (arriving, wanted)]
    larger, smaller = sides if given.sum() >= wanted.sum() else sides[::-1]
    limits = {"A_ub": larger[0], "b_ub": larger[1], "A_eq": smaller[0], "b_eq": smaller[1]}
    found = linprog(costs.ravel(), **limits, method="highs")
    return float(found.fun if found.fun is not None else "nan")


def _exchanges(question: Question, plan: Plans, costs: Costs) -> Generator[Step, None, dict[str, list[Number]]]:
    """Make the plan cheaper by rounds of exchanges until there is none; returns the potentials that show it.

    A stand-in at distance 0 takes what is too much on one side.
    """
    given, wanted = question.masses("supply"), question.masses("demand")
    surplus = total(given) - total(wanted)
    full, lengths = [list(row) for row in plan], [list(row) for row in costs]
    if surplus > 0:
        full = [[*row, mass - total(row)] for row, mass in zip(full, given, strict=True)]
        lengths = [[*row, Fraction(0)] for row in lengths]
    elif surplus < 0:
        full.append([mass - total(column) for mass, column in zip(wanted, zip(*full, strict=True), strict=True)])
        lengths.append([Fraction(0)] * len(wanted))
    for ways, amount, gain in exchanged(full, lengths):
        for row, changed in zip(plan, full, strict=False):
            row[:] = changed[: len(row)]
        yield Step(
            says=f"An exchange that pays: along a round of {ways} ways, mass {amount} is sent and taken back by "
            f"turns, which saves {short(gain)} per unit. Work is now {short(work(plan, costs))}.",
            formula=rf"T = {_board.matrix(plan)}",
            value=work(plan, costs),
        )
    u, v = potentials(full, lengths)
    zero = -v[-1] if surplus > 0 else u[-1] if surplus < 0 else u[0]
    return {"supply": [p - zero for p in u[: len(given)]], "demand": [p + zero for p in v[: len(wanted)]]}


def _certificate(prices: dict[str, list[Number]], plan: Plans, costs: Costs, least: Number) -> Step:
    u, v = prices["supply"], prices["demand"]
    gaps = [[cost - a - b for cost, b in zip(row, v, strict=True)] for row, a in zip(costs, u, strict=True)]
    used = sum(mass > 0 for row in plan for mass in row)
    return Step(
        says="Why nothing is cheaper: pay u at each supply and v at each demand. No pair is paid more than its "
        "distance (no gap below is negative), so every plan costs at least the sum of all payments, which is "
        f"{short(least)}. Ours costs just that: its {used} ways are ways without a gap.",
        formula=rf"u = {_board.row(u)}, \quad v = {_board.row(v)}, \quad c_{{ij}} - u_i - v_j = {_board.matrix(gaps)}, "
        rf"\quad \sum_i s_i u_i + \sum_j d_j v_j = {_board.number(least)}",
        value=prices,
    )


def _picture(question: Question, plan: Plans, least: Number) -> TransportPlan:
    places = {
        field: tuple(tuple(map(float, place)) for place in question.places(field)) for field in ("supply", "demand")
    }
    return TransportPlan(
        title=f"Optimal plan, work {short(least)}", **places, masses=tuple(tuple(map(float, row)) for row in plan)
    )


def _square(a: Vector, b: Vector) -> Fraction:
    return sum(((x - y) ** 2 for x, y in zip(a, b, strict=True)), Fraction(0))


def _written(square: Fraction) -> str:
    length = root(square)
    return _board.number(length) if isinstance(length, Fraction) else rf"\sqrt{{{_board.number(square)}}}"


def _sum(plan: Plans, squares: list[list[Fraction]]) -> str:
    pairs = zip(plan, squares, strict=True)
    terms = [(m, s) for row, line in pairs for m, s in zip(row, line, strict=True) if m]
    return " + ".join(rf"{_board.number(mass)} \cdot {_written(square)}" for mass, square in terms)
