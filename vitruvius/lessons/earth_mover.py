r"""The earth mover's distance: an optimal transport plan, and prices that prove that no plan is cheaper.

Minimise $\sum_{ij} T_{ij} c_{ij}$ over plans $T$ whose row $i$ adds up to supply $s_i$ and column $j$ to
demand $d_j$. Dual: with potentials $u_i + v_j \leq c_{ij}$ every plan costs at least $\sum_i s_i u_i + \sum_j
d_j v_j$. Arrays of type object hold exact masses and distances (a root is a float). Shapes: S supplies, D
demands."""

import math
from collections.abc import Iterator
from fractions import Fraction
from random import Random
from typing import Annotated, Any

import numpy as np
from scipy.optimize import linprog
from scipy.spatial.distance import cdist

from vitruvius import lessons
from vitruvius.core.blocks import TransportPlan
from vitruvius.lessons import Answer, Attempt, Board, Exact, Proof, Step, Vector, exact, latex
from vitruvius.lessons._board import short
from vitruvius.lessons._draws import shares
from vitruvius.lessons._exact import Number, root
from vitruvius.lessons._figures import floats
from vitruvius.lessons._proofs import agree, holds
from vitruvius.lessons._tensors import Array, arrays

SUBJECT = "optimal transport"
TASK = (
    "The earth mover's distance. Supply and demand are given as [point, mass]. Work out the Euclidean "
    "distances (a row per supply, a column per demand), the least work that moves all mass, and the "
    "distance, which is the work per unit of mass."
)
NOT_UNIQUE = ("plan", "potentials")
"""Parts of the answer in whose place others may be right, too."""
SLACK = 1e-12
"""Two ways that differ by less are equally long: distances with roots are rounded."""
Mass = tuple[Exact | Vector, Exact]
"""A point (a number or its coordinates) and the mass that lies or is wanted there."""


class Question(lessons.Question):
    """Two piles of mass, as [point, mass] each."""

    limits = {"S": (1, 16), "D": (1, 16)}
    supply: Annotated[tuple[Mass, ...], "S"] = exact((((0, 0), 3), ((4, 0), 3), ((12, 9), 2)))
    demand: Annotated[tuple[Mass, ...], "D"] = exact((((4, 3), 3), ((12, 0), 3), ((0, 9), 2)))
    partial: bool = False
    """Allow unequal totals: only the smaller one is moved, at the least work."""

    def refuse(self) -> None:
        for field, masses in zip(("supply", "demand"), self.masses, strict=True):
            if min(masses) <= 0:
                raise ValueError(f"{field} has a mass of {min(masses)}: every mass must be above 0")
        sizes = sorted({len(place) for places in self.places for place in places})
        if len(sizes) > 1 or 0 in sizes:
            has = f"supply and demand have points of {sizes} coordinates"
            raise ValueError(f"{has}: all need as many, at least 1")
        given, wanted = map(sum, self.masses)
        if given != wanted and not self.partial:
            raise ValueError(f"supply has mass {given}, demand {wanted}: both need the same, or partial=true")

    @property
    def places(self) -> list[list[Vector]]:
        """The coordinates of the points of both piles."""
        return [[p if isinstance(p, tuple) else (p,) for p, _ in pile] for pile in (self.supply, self.demand)]

    @property
    def masses(self) -> list[list[Fraction]]:
        """The masses of both piles."""
        return [[mass for _, mass in pile] for pile in (self.supply, self.demand)]


def solve(question: Question) -> Iterator[Step | Answer]:
    """Distances, a tempting plan, exchanges that make it cheaper, the proof that nothing is left to gain."""
    (given_S, wanted_D), (sources, sinks) = (np.array(m, object) for m in question.masses), question.places
    pairs = [[sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) for b in sinks] for a in sources]
    costs_SD, written_SD = (np.vectorize(f, otypes=[object])(pairs) for f in (root, _written))
    lying, wanted = given_S.sum(), wanted_D.sum()
    board = Board(given=given_S, wanted=wanted_D, lying=lying, needed=wanted, moved=min(lying, wanted))
    board |= {"s": len(given_S), "d": len(wanted_D), "costs": costs_SD, "written": written_SD}
    yield board.step(
        "Mass <lying> lies at <s> points, mass <needed> is wanted at <d>."
        + (" Only <moved> can be moved, the rest stays where it is." if lying != wanted else "")
        + " First the Euclidean distances, <costs[0][0]> for the first pair.",
        r"s = <given>, \quad d = <wanted>, \quad c = <written>",
        "costs",
    )
    full, lengths = _balanced(_shortest_first(given_S, wanted_D, costs_SD), costs_SD, given_S, wanted_D)
    plan_SD = full[: len(given_S), : len(wanted_D)]  # a view: the exchanges change it, too
    board |= {"plan": plan_SD, **_added_up(plan_SD, costs_SD, written_SD)}
    yield board.step(
        "A tempting plan takes the shortest way first, as much as it can carry, then the next. Work is mass "
        "times distance: <work>.",
        r"T = <plan>, \quad <sum> = <work>",
        "plan",
    )
    while cycle := _cheapest_round(full, lengths)[1]:
        board |= {"ways": len(cycle), **_exchanged(full, lengths, cycle)}
        board |= _added_up(plan_SD, costs_SD, written_SD)
        yield board.step(
            "An exchange that pays: along a round of <ways> ways, mass <amount> is sent and taken back by "
            "turns, which saves <gain> per unit. Work is now <work>.",
            "T = <plan>",
            "work",
        )
    yield from _optimum(question, board, np.array(_cheapest_round(full, lengths)[0], object))


def _optimum(question: Question, board: Board, level: Array) -> Iterator[Step | Answer]:
    """The plan, and the certificate: potentials from the levels of supplies and demands (stand-in last)."""
    plan_SD, s, d, surplus = board["plan"], board["s"], board["d"], board["lying"] - board["needed"]
    board["distance"] = board["work"] / board["moved"]
    supply, demand = map(floats, question.places)
    title = f"Optimal plan, work {short(board['work'])}"
    yield board.step(
        "This is the plan: <work> in all, <distance> for each of <moved> units of mass. The work per unit of "
        "mass is the earth mover's distance.",
        r"T = <plan>, \quad <sum> = <work>",
        "plan work distance",
        TransportPlan(title=title, supply=supply, demand=demand, masses=floats(plan_SD)),
    )
    sources = s + (surplus < 0)
    zero = -level[-1] if surplus > 0 else -level[s] if surplus < 0 else -level[0]
    u_S, v_D = -level[:s] - zero, level[sources:][:d] + zero
    board |= {"u": u_S, "v": v_D, "gaps": board["costs"] - u_S[:, None] - v_D, "used": (plan_SD > 0).sum()}
    potentials = {"supply": u_S, "demand": v_D}
    yield board.step(
        "Why nothing is cheaper: pay u at each supply and v at each demand. No pair is paid more than its "
        "distance (no gap below is negative), so every plan costs at least the sum of all payments, which is "
        "<work>. Ours costs just that: its <used> ways are ways without a gap.",
        r"u = <u>, \quad v = <v>, \quad c_{ij} - u_i - v_j = <gaps>, \quad \sum_i s_i u_i + \sum_j d_j v_j = "
        r"<work>",
        potentials,
    )
    yield Answer(fields={**board.pick("work distance plan"), "potentials": potentials})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """Feasibility, duality, complementary slackness, and a linear programme."""
    given, wanted, plan = arrays(*question.masses, answer["plan"])
    u, v = arrays(answer["potentials"]["supply"], answer["potentials"]["demand"])
    sources, sinks = arrays(*question.places)
    costs = cdist(sources, sinks)
    sent, received, moved = plan.sum(1), plan.sum(0), min(given.sum(), wanted.sum())
    left_u, left_v = given - sent > SLACK * given, wanted - received > SLACK * wanted
    full = [moved, *given[~left_u], *wanted[~left_v]]
    yield agree("all is moved", "sums of the plan", [plan.sum(), *sent[~left_u], *received[~left_v]], full)
    least = plan.min()
    yield holds("nothing flows backwards", "signs of the plan", least >= 0, f"smallest entry {least:g}")
    yield agree("work", "plan times scipy's cdist", answer["work"], (plan * costs).sum())
    yield agree("work", "value of the dual, u s + v d", answer["work"], u @ given + v @ wanted)
    slack = (costs - u[:, None] - v).min()
    detail = f"smallest slack {slack:.3g}"
    yield holds("no price exceeds its distance", "dual feasibility", slack >= -1e-9, detail)
    used = np.argwhere(plan > SLACK * moved)
    prices = [u[i] + v[j] for i, j in used] + [*u[left_u], *v[left_v]]
    lengths = [costs[i, j] for i, j in used] + [0.0] * int(left_u.sum() + left_v.sum())
    yield agree("prices on used ways, 0 where mass is left", "complementary slackness", prices, lengths)
    programme = _programme(given, wanted, costs)
    yield agree("work", "linear programme (HiGHS)", answer["work"], programme)
    yield agree("distance", "linear programme per unit of mass", answer["distance"], programme / moved)
    if all(mass.denominator == 1 for masses in question.masses for mass in masses):
        whole, detail = bool((plan == plan.round()).all()), f"{len(used)} ways are used"
        yield holds("whole masses are moved whole", "rounding the plan", whole, detail)


def attempt(question: Question, write: Attempt) -> None:
    """Distances, the least work, the work per unit."""
    (given, wanted), (sources, sinks) = (np.array(m, object) for m in question.masses), question.places
    a_SC, b_DC = arrays(sources, sinks)
    between = a_SC[:, None] - b_DC[None]
    costs = write(
        "costs",
        np.sqrt((between**2).sum(2)),
        "distances",
        "How long is the straight way?",
        r"c_{ij} = \lVert x_i - y_j \rVert_2",
        squared=("the root is forgotten", (between**2).sum(2)),
        blocks=("the ways along the axes are added up", np.abs(between).sum(2)),
    )
    greedy = float((_shortest_first(given, wanted, costs).astype(float) * costs).sum())
    least = _programme(given.astype(float), wanted.astype(float), costs)
    if math.isnan(least):
        raise ValueError("no plan is found for these distances")
    work = write(
        "work",
        least,
        "least work",
        "Is the shortest way always worth taking first?",
        r"\min_T \sum_{ij} T_{ij} c_{ij}",
        greedy=("the shortest ways are taken first", greedy),
        in_order=("supplies serve the demands in order", float((_in_order(given, wanted) * costs).sum())),
    )
    moved = float(min(given.sum(), wanted.sum()))
    write(
        "distance",
        work / moved,
        "earth mover's distance",
        "What is the work divided by?",
        r"\frac{\text{work}}{\text{mass moved}}",
        undivided=("the work is not divided by the mass", work),
        per_point=("the work is divided by the number of supplies", work / len(given)),
    )


def _in_order(given: Array, wanted: Array) -> Array:
    """The plan by the north-west corner rule."""
    plan, left, missing = np.zeros((len(given), len(wanted))), list(given), list(wanted)
    i = j = 0
    while i < len(left) and j < len(missing):
        moved = min(left[i], missing[j])
        plan[i, j] += float(moved)
        left[i], missing[j] = left[i] - moved, missing[j] - moved
        i, j = (i + 1, j) if not left[i] else (i, j + 1)
    return plan


def draw(random: Random) -> dict[str, Any]:
    """Three supplies and three demands on a grid of whole numbers."""
    points = random.sample([(3 * x, 4 * y) for x in range(5) for y in range(4)], 6)
    total = random.randint(6, 9)
    piles = [[int(part * total) for part in shares(random, 3, total)] for _ in range(2)]
    halves = {"supply": (points[:3], piles[0]), "demand": (points[3:], piles[1])}
    return {name: [[*pair] for pair in zip(*half, strict=True)] for name, half in halves.items()}


def _programme(given: Array, wanted: Array, costs: Array) -> float:
    """The least work as scipy finds it, NaN if it does not; the larger side need not be used up."""
    rows, columns = costs.shape
    leaving = np.kron(np.eye(rows), np.ones(columns)), given
    arriving = np.kron(np.ones(rows), np.eye(columns)), wanted
    larger, smaller = (leaving, arriving) if given.sum() >= wanted.sum() else (arriving, leaving)
    found = linprog(costs.ravel(), *larger, *smaller, method="highs")
    return float(found.fun if found.fun is not None else "nan")


def _written(square: Fraction) -> str:
    return latex(length) if isinstance(length := root(square), Fraction) else rf"\sqrt{{{latex(square)}}}"


def _added_up(plan: Array, costs: Array, written: Array) -> dict[str, Any]:
    """Mass times distance, added up: the work, and the sum in LaTeX."""
    terms = [(mass, *rest) for mass, *rest in zip(plan.flat, costs.flat, written.flat, strict=True) if mass]
    work = sum((mass * cost for mass, cost, _ in terms), Fraction(0))
    return {"work": work, "sum": " + ".join(rf"{latex(mass)} \cdot {length}" for mass, _, length in terms)}


def _shortest_first(given: Array, wanted: Array, costs: Array) -> Array:
    """The tempting plan: as much as possible along the shortest way, then along the next."""
    left, missing, plan = given.copy(), wanted.copy(), np.full(costs.shape, Fraction(0))
    for i, j in sorted(np.ndindex(costs.shape), key=lambda pair: costs[pair]):
        plan[i, j] = min(left[i], missing[j])
        left[i] -= plan[i, j]
        missing[j] -= plan[i, j]
    return plan


def _balanced(plan: Array, costs: Array, given: Array, wanted: Array) -> tuple[Array, Array]:
    """Plan and distances with a stand-in at distance 0 that takes what is too much on one side."""
    rest_S, rest_D = given - plan.sum(1), wanted - plan.sum(0)
    if rest_S.any():
        return np.column_stack([plan, rest_S]), np.column_stack([costs, np.full(len(given), Fraction(0))])
    if rest_D.any():
        return np.vstack([plan, rest_D]), np.vstack([costs, np.full(len(wanted), Fraction(0))])
    return plan, costs


def _cheapest_round(plan: Array, costs: Array) -> tuple[list[Number], list[int]]:
    """Bellman and Ford: potentials of all points, or a round of negative length if there is one.

    A way leads from supply to demand at its distance, and back, where mass flows, at minus its distance."""
    sources, nodes = len(plan), sum(plan.shape)
    ways = []
    for (i, j), cost in np.ndenumerate(costs):
        ways += [(i, sources + j, cost), (sources + j, i, -cost)][: 2 if plan[i, j] else 1]
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


def _exchanged(plan: Array, costs: Array, cycle: list[int]) -> dict[str, Any]:
    """Send as much as possible round the cycle; returns the mass and what each unit saves."""
    sources, steps = len(plan), list(zip(cycle, [*cycle[1:], cycle[0]], strict=True))
    there = [(a, b - sources) for a, b in steps if a < sources]
    back = [(b, a - sources) for a, b in steps if a >= sources]
    amount = min(plan[way] for way in back)
    for way in there:
        plan[way] += amount
    for way in back:
        plan[way] -= amount
    return {"amount": amount, "gain": sum(costs[way] for way in back) - sum(costs[way] for way in there)}
