r"""Message passing: one parallel update of the states of a directed graph, edge by edge.

Along each edge j -> i goes the message $f(h_j)$; vertex i aggregates what arrives, $a_i = \mathrm{Agg}_j f(h_j)$, and
becomes $h_i' = W h_i^T + \max(a_i, 0)$. States are row vectors; vertices are counted from 1.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import model_validator

from vitruvius import lessons
from vitruvius.core.blocks import Graph
from vitruvius.lessons import Answer, Exact, Matrix, Proof, Step, Vector, _board, _shapes, exact
from vitruvius.lessons._proofs import agree

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

SUBJECT = "recurrent nets and graphs"
VERTICES, EDGES, WIDTH = 64, 512, 16
Rows = list[list[Fraction]]


class Question(lessons.Question):
    """A graph, its states and the three functions; the default has the edges that the assignment's sum names."""

    graph: tuple[tuple[int, int], ...] = ((2, 1), (3, 1), (4, 1))
    """Edges as [from, to]."""
    states: Matrix = exact(((1, -1), (-1, 1), (0, -1), (1, 0)))
    edge_function: Exact | Matrix = exact(2)
    """f: a number c for f(x) = cx, or a matrix M for f(x) = xM."""
    aggregation: Literal["sum", "mean"] | Vector = exact((0.6, 0.2, 0.2))
    """sum, mean, or one weight per edge in the order of `graph`."""
    update: Matrix = exact(((1, 1),))
    """W: one row makes W h^T a number that is added to every entry, as many rows as entries a vector."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        count, width = _shapes.matrix("states", self.states, (VERTICES, WIDTH))
        if len(self.graph) > EDGES or len(set(self.graph)) < len(self.graph):
            raise ValueError(f"graph has {len(self.graph)} edges: needs at most {EDGES}, each once")
        for source, target in self.graph:
            if not (1 <= source <= count and 1 <= target <= count):
                raise ValueError(f"graph has the edge [{source}, {target}]: states has the vertices 1 to {count}")
        if isinstance(self.aggregation, tuple):
            _shapes.vector("aggregation", self.aggregation, len(self.graph), "edge of graph")
        if not isinstance(self.edge_function, Fraction):
            _shapes.exactly("edge_function", self.edge_function, width, width)
        if len(self.update) != 1:
            _shapes.exactly("update", self.update, width, width)
        _shapes.exactly("update", self.update, len(self.update), width)
        return self


def solve(question: Question) -> Iterator[Step | Answer]:
    """Messages, aggregates, new states; every vertex reads the same snapshot."""
    states, weights = question.states, _weights(question)
    yield Step(
        says=f"The rule for a sum: a vertex gathers the messages of the vertices with an edge towards it. The sum runs "
        f"over these neighbours j, not over i itself; here {len(question.graph)} edges carry a message.",
        formula=r"h_i^{t+1} = q\left(h_i^t, \sum_{j : v_j \in \mathcal{N}(v_i)} f_{ji}(h_j^t)\right)",
        figure=_drawn(question, weights),
    )
    messages = [_send(question.edge_function, states[source - 1]) for source, _ in question.graph]
    yield Step(
        says=f"Each of the {len(messages)} edges transforms the state of the vertex it comes from.",
        formula=r", \quad ".join(
            rf"f(h_{{{source}}}) = {_board.row(message)}"
            for (source, _), message in zip(question.graph, messages, strict=True)
        ),
        value=messages,
    )
    reached = {target for _, target in question.graph}
    aggregate = [[Fraction(0)] * len(state) for state in states]
    for (_, target), weight, message in zip(question.graph, weights, messages, strict=True):
        aggregate[target - 1] = [a + weight * m for a, m in zip(aggregate[target - 1], message, strict=True)]
    yield Step(
        says=f"Weigh and add what arrives at each vertex. Nothing arrives at {len(states) - len(reached)} of the "
        f"{len(states)} vertices: their aggregate is the zero vector.",
        formula=r", \quad ".join(_gathered(i, a, weights, messages, question) for i, a in enumerate(aggregate, 1)),
        value=aggregate,
    )
    own = [_own(question.update, state) for state in states]
    new = [
        [w + max(a, Fraction(0)) for w, a in zip(o, agg, strict=True)] for o, agg in zip(own, aggregate, strict=True)
    ]
    yield _update_step(question, own, aggregate, new)
    yield Answer(fields={"messages": messages, "aggregate": aggregate, "states": new})


def _update_step(question: Question, own: Rows, aggregate: Rows, new: Rows) -> Step:
    scalar = len(question.update) == 1 < len(question.states[0])
    kind = f"W h^T is a number ({own[0][0]} for vertex 1), added to every entry" if scalar else "W h^T is a vector"
    below = sum(a < 0 for row in aggregate for a in row)
    return Step(
        says=f"Update all {len(new)} vertices at once: {kind}. Negative entries of the aggregates become 0 in the "
        f"maximum (here {below}), so a slip in one of them does not show in the result: check the aggregate itself.",
        formula=r", \quad ".join(
            rf"h_{{{i}}}^{{t+1}} = {_board.number(w[0]) if scalar else _board.row(w)} + \max\left("
            rf"{_board.row(a)}, 0\right) = {_board.row(h)}"
            for i, (w, a, h) in enumerate(zip(own, aggregate, new, strict=True), 1)
        ),
        value=new,
    )


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """The same update as products with the adjacency matrix, and as attention over the graph where it is one."""
    import numpy as np

    h_ND = np.array(question.states, dtype=float)
    edge = question.edge_function
    sent_ND = h_ND * float(edge) if isinstance(edge, Fraction) else h_ND @ np.array(edge, dtype=float)
    source, target = np.array(question.graph, dtype=int).reshape(-1, 2).T - 1
    link_NN = np.zeros((len(h_ND), len(h_ND)))
    link_NN[target, source] = (
        1 if isinstance(question.aggregation, str) else np.array(question.aggregation, dtype=float)
    )
    if question.aggregation == "mean":
        link_NN /= np.maximum(link_NN.sum(1, keepdims=True), 1)
    gathered_ND = link_NN @ sent_ND
    yield agree("messages", "matrix product", answer["messages"], sent_ND[source])
    yield agree("aggregate", "adjacency matrix times messages", answer["aggregate"], gathered_ND)
    new_ND = h_ND @ np.array(question.update, dtype=float).T + np.maximum(gathered_ND, 0)
    yield agree("states", "matrix form of the update", answer["states"], new_ND)
    totals = link_NN.sum(1)
    if (link_NN >= 0).all() and np.isin(totals.round(12), (0, 1)).all():
        yield agree("aggregate", "the graph kernel", answer["aggregate"], _by_attention(link_NN, sent_ND))


def _by_attention(link_NN: "Array", sent_ND: "Array") -> "Array":
    """Weights that are distributions are an attention: equal scores, and their logarithms as the mask."""
    import numpy as np
    import torch

    from vitruvius import kernels

    with np.errstate(divide="ignore"):  # no edge: -inf
        mask = torch.from_numpy(np.log(link_NN))
    value = torch.from_numpy(sent_ND)[None, None]
    return kernels.get("graph").attend(torch.zeros_like(value), torch.zeros_like(value), value, mask)[0, 0].numpy()


def _weights(question: Question) -> list[Fraction]:
    """The weight of each edge."""
    if isinstance(question.aggregation, tuple):
        return list(question.aggregation)
    targets = [target for _, target in question.graph]
    return [Fraction(1, targets.count(target) if question.aggregation == "mean" else 1) for target in targets]


def _send(edge: Fraction | Matrix, state: Vector) -> list[Fraction]:
    if isinstance(edge, Fraction):
        return [edge * x for x in state]
    return [
        sum((x * row[column] for x, row in zip(state, edge, strict=True)), Fraction(0)) for column in range(len(state))
    ]


def _own(update: Matrix, state: Vector) -> list[Fraction]:
    """W h^T, spread over all entries where W has one row."""
    products = [sum((w * x for w, x in zip(row, state, strict=True)), Fraction(0)) for row in update]
    return products if len(products) == len(state) else products * len(state)


def _gathered(vertex: int, result: list[Fraction], weights: list[Fraction], messages: Rows, question: Question) -> str:
    """One aggregate as a sum of weighted messages, in LaTeX."""
    arriving = [
        rf"{_board.number(weight)} {_board.row(message)}"
        for (_, target), weight, message in zip(question.graph, weights, messages, strict=True)
        if target == vertex
    ]
    return rf"a_{{{vertex}}} = " + " = ".join(filter(None, [" + ".join(arriving), _board.row(result)]))


def _drawn(question: Question, weights: list[Fraction]) -> Graph:
    """The vertices on a circle, the first at the top."""
    count = len(question.states)
    turns = [2 * math.pi * index / count for index in range(count)]
    return Graph(
        title="Who sends to whom",
        nodes=tuple(f"h_{i} = ({', '.join(map(str, state))})" for i, state in enumerate(question.states, 1)),
        places=tuple((math.sin(turn), math.cos(turn)) for turn in turns),
        edges=tuple((source - 1, target - 1) for source, target in question.graph),
        labels=tuple(map(str, weights)),
    )
