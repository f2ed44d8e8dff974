r"""Message passing: one parallel update of the states of a directed graph, edge by edge.

Along each edge j -> i goes the message $f(h_j)$; vertex i aggregates what arrives, $a_i = \mathrm{Agg}_j
f(h_j)$, and becomes $h_i' = W h_i^T + \max(a_i, 0)$. States are row vectors; vertices are counted from 1."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from random import Random
from typing import Annotated, Any, Literal

import numpy as np
import torch

from vitruvius import lessons
from vitruvius.lessons import Answer, Attempt, Board, Exact, Matrix, Proof, Step, Vector, exact, latex
from vitruvius.lessons._board import short, signed
from vitruvius.lessons._draws import whole
from vitruvius.lessons._exact import product
from vitruvius.lessons._figures import circle
from vitruvius.lessons._proofs import agree
from vitruvius.lessons._tensors import arrays, attend

SUBJECT = "recurrent nets and graphs"
TASK = (
    "One parallel update of a directed graph. An edge [from, to] carries the message f(h) = c h with "
    "c = <edge_function>; a vertex adds up what arrives, each message times the weight of its edge "
    "(aggregation, in the order of the edges), and becomes W h^T + max(aggregate, 0), where W h^T is "
    "a number that is added to every entry. Work out the messages, the aggregates and the new states."
)


class Question(lessons.Question):
    """A graph, its states and the three functions; the default has the edges of the assignment's sum."""

    limits = {"E": (0, 512), "D": (1, 16)}
    """Edges, and entries of a state."""
    graph: Annotated[tuple[tuple[int, int], ...], "E"] = ((2, 1), (3, 1), (4, 1))
    """Edges as [from, to]."""
    states: Annotated[Matrix, "N D"] = exact(((1, -1), (-1, 1), (0, -1), (1, 0)))
    edge_function: Annotated[Exact | Matrix, "D D"] = exact(2)
    """f: a number c for f(x) = cx, or a matrix M for f(x) = xM."""
    aggregation: Annotated[Literal["sum", "mean"] | Vector, "E"] = exact((0.6, 0.2, 0.2))
    """sum, mean, or one weight per edge in the order of `graph`."""
    update: Annotated[Matrix, "R D"] = exact(((1, 1),))
    """W: one row makes W h^T a number that is added to every entry, as many rows as entries a vector."""

    def refuse(self) -> None:
        count, width, rows = (self.sizes[letter] for letter in "NDR")
        if len(set(self.graph)) < len(self.graph):
            raise ValueError("graph has an edge twice: it needs each once")
        for edge in self.graph:
            if not 1 <= min(edge) <= max(edge) <= count:
                raise ValueError(f"graph has the edge {list(edge)}: states has the vertices 1 to {count}")
        if rows not in (1, width):
            raise ValueError(f"update is {rows} x {width}: it needs 1 x {width} or {width} x {width}")


def solve(question: Question) -> Iterator[Step | Answer]:
    """Messages, aggregates, new states; every vertex reads the same snapshot."""
    graph, states, weights, edge = question.graph, question.states, _weights(question), question.edge_function
    nodes = [f"h_{i} = ({short(state)})" for i, state in enumerate(states, 1)]
    arrows = [(source - 1, target - 1) for source, target in graph]
    board = Board(edges=len(graph), count=len(states))
    yield board.step(
        "The rule for a sum: a vertex gathers the messages of the vertices with an edge towards it. The sum "
        "runs over these neighbours j, not over i itself; here <edges> edges carry a message.",
        r"h_i^{t+1} = q\left(h_i^t, \sum_{j : v_j \in \mathcal{N}(v_i)} f_{ji}(h_j^t)\right)",
        figure=circle("Who sends to whom", nodes, arrows, map(str, weights)),
    )
    sent = product(states, edge) if isinstance(edge, tuple) else [[edge * x for x in h] for h in states]
    board["messages"] = [sent[source] for source, _ in arrows]
    shown = [
        rf"f(h_{{{source + 1}}}) = {_passed(states[source], edge)} = {latex(sent[source])}"
        for source, _ in arrows
    ]
    yield board.step(
        "Each of the <edges> edges transforms the state of the vertex it comes from.",
        r", \quad ".join(shown),
        "messages",
    )
    yield _aggregate_step(question, board, weights)
    yield _update_step(question, board)
    yield Answer(fields=board.pick("messages aggregate states"))


def _passed(state: Sequence[Fraction], edge: Any) -> str:
    """What an edge does to a state: a matrix behind it, or a number before it."""
    return f"{latex(state)} {latex(edge)}" if isinstance(edge, tuple) else f"{signed(edge)} {latex(state)}"


def _aggregate_step(question: Question, board: Board, weights: list[Fraction]) -> Step:
    """The weighted sums of what arrives, which go on the board."""
    carried = list(zip(question.graph, weights, board["messages"], strict=True))
    vertices, entries = range(1, board["count"] + 1), range(question.sizes["D"])
    arriving = [[(w, m) for (_, target), w, m in carried if target == i] for i in vertices]
    aggregate = [[sum((w * m[d] for w, m in pairs), Fraction(0)) for d in entries] for pairs in arriving]
    terms = [" + ".join(f"{latex(w)} {latex(m)}" for w, m in pairs) for pairs in arriving]
    lines = [
        " = ".join(filter(None, [f"a_{{{i}}}", term, latex(total)]))
        for i, term, total in zip(vertices, terms, aggregate, strict=True)
    ]
    board |= {"aggregate": aggregate, "idle": arriving.count([])}
    return board.step(
        "Weigh and add what arrives at each vertex. Nothing arrives at <idle> of the <count> vertices: their "
        "aggregate is the zero vector.",
        r", \quad ".join(lines),
        "aggregate",
    )


def _update_step(question: Question, board: Board) -> Step:
    """The new states, which go on the board."""
    aggregate, width, rows = board["aggregate"], question.sizes["D"], question.sizes["R"]
    added = product(question.states, list(zip(*question.update, strict=True)))
    scalar = rows == 1 < width
    own = [row * (width // rows) for row in added]  # one row of W: its number for every entry
    board["states"] = [
        [w + max(a, 0) for w, a in zip(*pair, strict=True)] for pair in zip(own, aggregate, strict=True)
    ]
    number = "W h^T is a number (<first> for vertex 1), added to every entry"
    board |= {"first": own[0][0], "below": sum(a < 0 for row in aggregate for a in row)}
    return board.step(
        f"Update all <count> vertices at once: {number if scalar else 'W h^T is a vector'}. Negative entries "
        f"of the aggregates become 0 in the maximum (here <below>), so a slip in one of them does not show "
        f"in the result: check the aggregate itself.",
        r", \quad ".join(
            rf"h_{{{i}}}^{{t+1}} = {latex(w[0] if scalar else w)} + \max\left({latex(a)}, 0\right) = "
            rf"{latex(h)}"
            for i, (w, a, h) in enumerate(zip(own, aggregate, board["states"], strict=True), 1)
        ),
        "states",
    )


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """The same update as products with the adjacency matrix, and as graph attention where it is one."""
    h_ND, edge, update = arrays(question.states, question.edge_function, question.update)
    sent_ND = h_ND @ edge if edge.ndim else h_ND * edge
    source, target = np.array(question.graph, dtype=int).reshape(-1, 2).T - 1
    link_NN, aggregation = np.zeros((len(h_ND), len(h_ND))), question.aggregation
    link_NN[target, source] = 1 if isinstance(aggregation, str) else np.array(aggregation, float)
    if aggregation == "mean":
        link_NN /= np.maximum(link_NN.sum(1, keepdims=True), 1)
    gathered_ND = link_NN @ sent_ND
    yield agree("messages", "matrix product", answer["messages"], sent_ND[source])
    yield agree("aggregate", "adjacency matrix times messages", answer["aggregate"], gathered_ND)
    new_ND = h_ND @ update.T + np.maximum(gathered_ND, 0)
    yield agree("states", "matrix form of the update", answer["states"], new_ND)
    if (link_NN >= 0).all() and np.isin(link_NN.sum(1).round(12), (0, 1)).all():
        # Weights that are distributions are an attention: equal scores, and their logarithms as the mask.
        with np.errstate(divide="ignore"):  # no edge: -inf
            mask = torch.from_numpy(np.log(link_NN))
        value, zero = torch.from_numpy(sent_ND), torch.zeros(h_ND.shape, dtype=torch.float64)
        attended = attend("graph", zero, zero, value, mask)
        yield agree("aggregate", "the graph kernel", answer["aggregate"], attended)


def attempt(question: Question, write: Attempt) -> None:
    """Messages, aggregates, new states."""
    states, update = arrays(question.states, question.update)
    edges, weights = question.graph, np.array(_weights(question), float)
    sources, targets = ([edge[end] - 1 for edge in edges] for end in (0, 1))
    edge = question.edge_function
    sent = states @ np.array(edge, float) if isinstance(edge, tuple) else float(edge) * states
    messages = write(
        "messages",
        sent[sources],
        "message of each edge",
        "Whose state does an edge carry?",
        r"f(h_j) \text{ along the edge } j \to i",
        receiver=("the state of the receiving vertex is sent", sent[targets]),
        unchanged=("the states are sent as they are, without f", states[sources]),
    )

    def gathered(weight: Any) -> Any:
        total = np.zeros_like(states)
        np.add.at(total, targets, np.asarray(weight)[:, None] * messages)
        return total

    counts = np.array([targets.count(target) for target in targets])
    aggregate = write(
        "aggregate",
        gathered(weights),
        "what arrives at each vertex",
        "Which edges point to a vertex, and how much does each count?",
        r"a_i = \sum_{j \to i} w_{ji} f(h_j)",
        plain_sum=("the messages are added without their weights", gathered(np.ones(len(edges)))),
        mean=("the messages are averaged", gathered(1 / counts)),
    )
    own = states @ update.T
    write(
        "states",
        own + np.maximum(aggregate, 0),
        "new states",
        "Of what is the maximum with 0 taken: of the aggregate, or of the sum?",
        r"h_i' = W h_i^T + \max(a_i, 0)",
        no_maximum=("the maximum with 0 is forgotten", own + aggregate),
        outside=("the maximum is taken of the whole sum", np.maximum(own + aggregate, 0)),
        no_own=("the vertex's own state is left out", np.maximum(aggregate, 0)),
    )


def draw(random: Random) -> dict[str, Any]:
    """Four vertices, four edges with weights in tenths."""
    pairs = [(i, j) for i in range(1, 5) for j in range(1, 5) if i != j]
    edges = random.sample(pairs, 4)
    given = {"graph": edges, "aggregation": [f"{random.randint(1, 9)}/10" for _ in edges]}
    return given | {
        "states": whole(random, -2, 2, 4, 2),
        "update": whole(random, -1, 2, 1, 2),
        "edge_function": random.randint(2, 3),
    }


def _weights(question: Question) -> list[Fraction]:
    """The weight of each edge."""
    if isinstance(question.aggregation, tuple):
        return list(question.aggregation)
    targets = [target for _, target in question.graph]
    return [Fraction(1, targets.count(target) if question.aggregation == "mean" else 1) for target in targets]
