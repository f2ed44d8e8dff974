r"""Attention as message passing: one head is a graph network on all pairs, a mask is a set of missing edges.

$h_i' = \sum_j \mathrm{softmax}_j(Q h_i \cdot K h_j)\, V h_j$ over the edges j -> i. Each edge carries the message
$(e^{s_{ij}} V h_j,\; e^{s_{ij}})$ with $s_{ij} = Q h_i \cdot K h_j$, Agg is the sum, and the update divides.
Rows of `states` are the vectors $h_j$; `w_q`, `w_k`, `w_v` multiply them from the left, as the assignment writes.
"""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from vitruvius import lessons
from vitruvius.core.blocks import Heatmap
from vitruvius.lessons import Answer, Matrix, Proof, Step, _board, _shapes, exact
from vitruvius.lessons._proofs import agree

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

SUBJECT = "recurrent nets and graphs"
LARGEST = 32


class Question(lessons.Question):
    """States, the three matrices, which edges exist, and the sequence lengths whose cost is shown."""

    states: Matrix = exact(((1, -1), (-1, 1), (0, -1), (1, 0)))
    w_q: Matrix = exact(((1, 0), (0, 1)))
    w_k: Matrix = exact(((1, 1), (0, 1)))
    w_v: Matrix = exact(((2, 0), (0, 2)))
    scaled: bool = False
    """Divide the scores by the root of the number of rows of w_q."""
    mask: Literal["none", "causal"] | tuple[tuple[bool, ...], ...] = "none"
    """Row i says which words j word i may see (true = an edge j -> i)."""
    tokens: tuple[Annotated[int, Field(ge=2, le=65536)], ...] = (4, 64, 1024, 16384)
    window: Annotated[int, Field(ge=1, le=65536)] = 4
    """Reach of the local graph that the long sequences are compared with: edges to so many words on either side."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        count, width = _shapes.matrix("states", self.states, (LARGEST, LARGEST))
        for field in ("w_q", "w_k", "w_v"):
            rows, _ = _shapes.matrix(field, getattr(self, field), (LARGEST, LARGEST))
            _shapes.exactly(field, getattr(self, field), rows, width)
        if len(self.w_q) != len(self.w_k):
            raise ValueError(f"w_q has {len(self.w_q)} rows and w_k {len(self.w_k)}: queries and keys need one length")
        if not isinstance(self.mask, str):
            _shapes.exactly("mask", self.mask, count, count)
        if not 1 <= len(self.tokens) <= 8:
            raise ValueError(f"tokens has {len(self.tokens)} lengths: needs 1 to 8")
        return self


def solve(question: Question) -> Iterator[Step | Answer]:
    """Messages along the edges, their sums, the quotient; then what it costs to be connected to everyone."""
    q_ND, k_ND, v_NE = _projected(question, exactly=True)
    divisor = math.sqrt(len(question.w_q)) if question.scaled else 1
    exact_NN, edge_NN, v_NE = q_ND @ k_ND.T / divisor, _edges(question), v_NE.astype(float)
    score_NN, edges = exact_NN.astype(float), int(edge_NN.sum())
    yield Step(
        says=f"Who talks to whom: every pair the mask allows is an edge j -> i, here {edges} of {edge_NN.size} (loops "
        "included; a mask removes edges). The score of an edge compares its two ends.",
        formula=rf"s_{{ij}} = Q h_i \cdot K h_j{' / ' + _board.number(divisor) if question.scaled else ''} : \quad "
        rf"S = {_board.matrix(exact_NN.tolist())}",
        value={"scores": exact_NN, "edges": edges},
    )
    # The row's maximum cancels in the quotient and keeps the powers finite.
    top_N1 = score_NN.max(1, keepdims=True, where=edge_NN, initial=np.finfo(float).min)
    power_NN = np.exp(np.where(edge_NN, score_NN - top_N1, -np.inf))
    sum_NE, total_N1 = power_NN @ v_NE, power_NN.sum(1, keepdims=True)
    total_N1[total_N1 == 0] = np.inf  # a word without edges receives nothing
    weight_NN, output_NE = power_NN / total_N1, sum_NE / total_N1
    yield _message_step(sum_NE[0], total_N1[0, 0], output_NE)
    yield from _reading_steps(question, weight_NN, output_NE, v_NE)
    costs = _by_name([_cost(tokens, question.window) for tokens in question.tokens])
    yield _cost_step(question.window, costs)
    arrays = {"scores": exact_NN, "weights": weight_NN, "output": output_NE}
    yield Answer(
        fields={"edges": edges, **{name: array.tolist() for name, array in arrays.items()}, "long_range": costs}
    )


def _message_step(first_E: "Array", total: float, output_NE: "Array") -> Step:
    return Step(
        says="Edge j -> i carries two things, the value and its weight before normalising; Agg adds what arrives, and "
        f"the update divides. For word 1 the weights add up to {total:.6g} (its largest score taken off first; it "
        "cancels). This is the general rule with these f, Agg and q, so attention is a special graph network.",
        formula=r"f_{ji}(h_j) = \left(e^{s_{ij}} V h_j, \; e^{s_{ij}}\right), \quad \mathrm{Agg} = \sum_j, \quad "
        rf"q(h_i, (a, b)) = \frac{{a}}{{b}} : \quad h_1' = \frac{{1}}{{{_board.number(total)}}} "
        rf"{_board.column(first_E.tolist())} = {_board.column(output_NE[0])}",
        value=output_NE,
    )


def _reading_steps(question: Question, weight_NN: "Array", output_NE: "Array", v_NE: "Array") -> Iterator[Step]:
    names = tuple(f"h_{i}" for i in range(1, len(weight_NN) + 1))
    missing, count = int((~_edges(question)).sum()), len(weight_NN)
    yield Step(
        says=f"The quotients are the attention weights; every row with an edge adds up to 1. A weight that the mask "
        f"forbids is an edge that is missing: {missing} of {count**2} here, {count * (count - 1) // 2} under a causal "
        "mask.",
        formula=rf"A = {_board.matrix(weight_NN.tolist())}, \quad H' = A H V^T = {_board.matrix(output_NE.tolist())}",
        value=weight_NN,
        figure=Heatmap(
            title="Attention weights: from column j to row i",
            values=tuple(map(tuple, weight_NN.tolist())),
            rows=names,
            columns=names,
        ),
    )
    away = float(np.abs(output_NE - v_NE).max())
    yield Step(
        says="The common mistake is to add the keys first and to multiply by the word's own value: a softmax over one "
        "number is 1, so every word would keep its own value and hear nothing; here that is wrong by up to "
        f"{away:.6g}.",
        formula=r"\mathrm{softmax}\left(Q h_i \cdot \sum_j K h_j\right) V h_i = 1 \cdot V h_i \neq "
        r"\sum_j \mathrm{softmax}_j(Q h_i \cdot K h_j) \, V h_j",
        value=away,
    )


def _cost(tokens: int, window: int) -> dict[str, float]:
    reach = min(window, tokens - 1)
    return {
        "tokens": tokens,
        "edges": tokens**2,
        "window_edges": tokens * (2 * reach + 1) - reach * (reach + 1),
        "window_hops": -(-(tokens - 1) // reach),
        "margin": math.log(tokens - 1),
    }


def _by_name(costs: list[dict[str, float]]) -> dict[str, list[float]]:
    """One list per quantity, an entry per sequence length."""
    return {name: [cost[name] for cost in costs] for name in costs[0]}


def _cost_step(window: int, costs: dict[str, list[float]]) -> Step:
    tokens, edges, window_edges, hops, margin = (values[-1] for values in costs.values())
    return Step(
        says=f"Why long range is costly, although any two words are one hop apart: {tokens:,} words need {edges:,} "
        f"edges per head and layer. Edges to {window} words on either side would be {window_edges:,}, but then news "
        f"from end to end takes {hops:,} layers and is mixed with others in each. And a key that is to get half of the "
        f"attention has to beat all others by {margin:.3f} in score, more with every word.",
        formula=r"n, \quad n^2, \quad n (2w + 1) - w (w + 1), \quad \left\lceil \frac{n - 1}{w} \right\rceil, \quad "
        rf"\ln(n - 1) : \quad {_board.matrix(list(zip(*costs.values(), strict=True)))}",
        value=costs,
    )


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """The product's softmax with a mask, its graph kernel with edges, and counting."""
    import torch

    from vitruvius import kernels

    q, k, v = (torch.from_numpy(part)[None, None] for part in _projected(question))
    edge_NN = torch.from_numpy(_edges(question))
    beta = q.shape[-1] ** -0.5 if question.scaled else 1.0
    h_ND = torch.tensor([[float(x) for x in state] for state in question.states], dtype=torch.float64)
    form_DD = torch.from_numpy(np.array(question.w_q, dtype=float).T @ np.array(question.w_k, dtype=float))
    scores = beta * torch.einsum("id,de,je->ij", h_ND, form_DD, h_ND)
    yield agree("scores", "the bilinear form of Q^T K", answer["scores"], scores)
    softmax, claimed = kernels.get("softmax"), {"weights": answer["weights"], "output": answer["output"]}
    dense = {
        "weights": softmax.weights(q, k, edge_NN, beta=beta)[0, 0],
        "output": softmax.attend(q, k, v, edge_NN, beta=beta)[0, 0],
    }
    yield agree("weights and output", "the softmax kernel with a mask", claimed, dense)
    target, source = edge_NN.nonzero(as_tuple=True)
    yield agree("edges", "counted", answer["edges"], len(source))
    graph = kernels.get("graph").attend(q * beta * q.shape[-1] ** 0.5, k, v, kernels.Edges(source, target))[0, 0]
    yield agree("output", "the graph kernel with an edge list", answer["output"], graph)
    counted = _by_name([_counted(tokens, question.window) for tokens in question.tokens])
    yield agree("cost of long range", "counting and walking", answer["long_range"], counted)


def _counted(tokens: int, window: int) -> dict[str, float]:
    from scipy.optimize import brentq

    place = np.arange(tokens)
    neighbours = np.minimum(place, window) + np.minimum(tokens - 1 - place, window) + 1
    hops, reached = 0, 0
    while reached < tokens - 1:
        reached, hops = reached + window, hops + 1
    margin = brentq(lambda m: 1 / (1 + (tokens - 1) * math.exp(-m)) - 0.5, -1, 20, xtol=1e-14)
    return {
        "tokens": len(place),
        "edges": int(np.full(tokens, tokens).sum()),
        "window_edges": int(neighbours.sum()),
        "window_hops": hops,
        "margin": margin,
    }


def _projected(question: Question, exactly: bool = False) -> "tuple[Array, Array, Array]":
    """Queries, keys and values, as fractions or as floats."""
    kind = object if exactly else float
    h_ND, w_q, w_k, w_v = (np.array(getattr(question, field), dtype=kind) for field in ("states", "w_q", "w_k", "w_v"))
    return h_ND @ w_q.T, h_ND @ w_k.T, h_ND @ w_v.T


def _edges(question: Question) -> "Array":
    """Entry (i, j) says whether there is an edge j -> i."""
    if isinstance(question.mask, str):
        everyone = np.ones((len(question.states),) * 2, dtype=bool)
        return np.tril(everyone) if question.mask == "causal" else everyone
    return np.array(question.mask)
