r"""Attention as message passing: one head is a graph network on all pairs, a mask is a set of missing edges.

$h_i' = \sum_j \mathrm{softmax}_j(Q h_i \cdot K h_j)\, V h_j$ over the edges j -> i. Each edge carries the
message $(e^{s_{ij}} V h_j,\; e^{s_{ij}})$ with $s_{ij} = Q h_i \cdot K h_j$, Agg is the sum, and the update
divides. Rows of `states` are the vectors $h_j$; `w_q`, `w_k`, `w_v` multiply them from the left, as the
assignment writes."""

import math
from collections.abc import Iterator
from random import Random
from typing import Annotated, Any, Literal

import numpy as np
import torch
from pydantic import Field
from scipy.optimize import brentq

from vitruvius import kernels, lessons
from vitruvius.core.blocks import Graph
from vitruvius.lessons import Answer, Attempt, Board, Matrix, Proof, Step, exact
from vitruvius.lessons._board import dot
from vitruvius.lessons._draws import whole
from vitruvius.lessons._figures import circle, heatmap, numbered
from vitruvius.lessons._proofs import agree
from vitruvius.lessons._tensors import Array, arrays, attend, tensors, weights

SUBJECT = "recurrent nets and graphs"
TASK = (
    "Attention as message passing on the complete graph of the words, without a mask. Rows of states "
    "are the vectors h_j; w_q, w_k and w_v multiply them from the left; scores are not scaled. How "
    "many edges are there (loops included), and what are scores, weights and new states?"
)

LARGEST_DRAWN = 8
"""Words up to which the graph is drawn."""


class Question(lessons.Question):
    """States, the three matrices, which edges exist, and the sequence lengths whose cost is shown."""

    limits = {**dict.fromkeys("NDAE", (1, 32)), "T": (1, 8)}
    states: Annotated[Matrix, "N D"] = exact(((1, -1), (-1, 1), (0, -1), (1, 0)))
    w_q: Annotated[Matrix, "A D"] = exact(((1, 0), (0, 1)))
    w_k: Annotated[Matrix, "A D"] = exact(((1, 1), (0, 1)))
    w_v: Annotated[Matrix, "E D"] = exact(((2, 0), (0, 2)))
    scaled: bool = False
    """Divide the scores by the root of the number of rows of w_q."""
    mask: Annotated[Literal["none", "causal"] | tuple[tuple[bool, ...], ...], "N N"] = "none"
    """Row i says which words j word i may see (true = an edge j -> i)."""
    tokens: Annotated[tuple[Annotated[int, Field(ge=2, le=65536)], ...], "T"] = (4, 64, 1024, 16384)
    window: Annotated[int, Field(ge=1, le=65536)] = 4
    """Reach of the local graph that the long sequences are compared with: edges to so many words on either
    side.
    """

    @property
    def edges(self) -> Array:
        """Entry (i, j) says whether there is an edge j -> i."""
        if isinstance(self.mask, tuple):
            return np.array(self.mask)
        everyone = np.ones((len(self.states),) * 2, dtype=bool)
        return np.tril(everyone) if self.mask == "causal" else everyone


def solve(question: Question) -> Iterator[Step | Answer]:
    """Messages along the edges, their sums, the quotient; then what it costs to be connected to everyone."""
    h, w_q, w_k, w_v = (np.array(getattr(question, name), object) for name in ("states", "w_q", "w_k", "w_v"))
    divisor, edge_NN = math.sqrt(len(w_q)) if question.scaled else 1, question.edges
    board = Board(divisor=divisor, edges=edge_NN.sum(), pairs=edge_NN.size)
    board["scores"] = h @ w_q.T @ (h @ w_k.T).T / divisor
    board["first"], over = dot(w_q @ h[0], w_k @ h[0]), " / <divisor>" if question.scaled else ""
    yield board.step(
        "Who talks to whom: every pair the mask allows is an edge j -> i, here <edges> of <pairs> (loops "
        "included; a mask removes edges). The score of an edge compares its two ends.",
        rf"s_{{ij}} = Q h_i \cdot K h_j{over} : \quad s_{{11}} = (<first>){over} = <scores[0][0]>, "
        r"\quad S = <scores>",
        "scores edges",
        _drawn(edge_NN),
    )
    score_NN, v_NE = board["scores"].astype(float), (h @ w_v.T).astype(float)
    # The row's maximum cancels in the quotient and keeps the powers finite.
    top_N1 = score_NN.max(1, keepdims=True, where=edge_NN, initial=np.finfo(float).min)
    power_NN = np.exp(np.where(edge_NN, score_NN - top_N1, -np.inf))
    sum_NE, total_N1 = power_NN @ v_NE, power_NN.sum(1, keepdims=True)
    total_N1[total_N1 == 0] = np.inf  # a word without edges receives nothing
    board |= {"weights": power_NN / total_N1, "output": sum_NE / total_N1}
    board |= {"total": total_N1[0, 0], "sum": sum_NE[0], "value": v_NE}
    yield board.step(
        "Edge j -> i carries two things, the value and its weight before normalising; Agg adds what arrives, "
        "and the update divides. For word 1 the weights add up to <total> (its largest score taken off "
        "first; it cancels). This is the general rule with these f, Agg and q, so attention is a special "
        "graph network.",
        r"f_{ji}(h_j) = \left(e^{s_{ij}} V h_j, \; e^{s_{ij}}\right), \quad \mathrm{Agg} = \sum_j, \quad "
        r"q(h_i, (a, b)) = \frac{a}{b} : \quad h_1' = \frac{1}{<total>} <sum:column> = <output[0]:column>",
        "output",
    )
    yield from _reading_steps(board, len(h))
    long_range = _by_name([_cost(tokens, question.window) for tokens in question.tokens])
    yield _cost_step(question.window, long_range)
    yield Answer(fields=board.pick("edges scores weights output") | {"long_range": long_range})


def _drawn(edge_NN: Array) -> Graph | None:
    """The words and their edges; many of them would be a black disc."""
    if len(edge_NN) > LARGEST_DRAWN:
        return None
    edges = [(int(j), int(i)) for i, j in np.argwhere(edge_NN)]
    return circle("Who talks to whom: an arrow from j to i", numbered("h_", len(edge_NN)), edges)


def _reading_steps(board: Board, n: int) -> Iterator[Step]:
    """What the weights mean, and the common mistake."""
    board |= {"missing": board["pairs"] - board["edges"], "later": n * (n - 1) // 2}
    board["away"] = np.abs(board["output"] - board["value"]).max()
    yield board.step(
        "The quotients are the attention weights; every row with an edge adds up to 1. A weight that the "
        "mask forbids is an edge that is missing: <missing> of <pairs> here, <later> under a causal mask.",
        r"A = <weights>, \quad H' = A H V^T = <output>",
        "weights",
        heatmap("Attention weights: from column j to row i", board["weights"], "h_", "h_"),
    )
    yield board.step(
        "The common mistake is to add the keys first and to multiply by the word's own value: a softmax over "
        "one number is 1, so every word would keep its own value and hear nothing; here that is wrong by up "
        "to <away>.",
        r"\mathrm{softmax}\left(Q h_i \cdot \sum_j K h_j\right) V h_i = 1 \cdot V h_i \neq \sum_j "
        r"\mathrm{softmax}_j(Q h_i \cdot K h_j) \, V h_j",
        "away",
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
    table = list(zip(*costs.values(), strict=True))
    board = Board(zip(costs, table[-1], strict=True), window=window, table=table)
    return board.step(
        "Why long range is costly, although any two words are one hop apart: <tokens:,> words need <edges:,> "
        "edges per head and layer. Edges to <window> words on either side would be <window_edges:,>, but "
        "then news from end to end takes <window_hops:,> layers and is mixed with others in each. And a key "
        "that is to get half of the attention has to beat all others by <margin:.3f> in score, more with "
        "every word.",
        r"n, \quad n^2, \quad n (2w + 1) - w (w + 1), \quad \left\lceil \frac{n - 1}{w} \right\rceil, \quad "
        r"\ln(n - 1) : \quad <table>",
        costs,
    )


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """The product's softmax with a mask, its graph kernel with edges, and counting."""
    h_ND, w_q, w_k, w_v = tensors(question.states, question.w_q, question.w_k, question.w_v)
    q, k, v, edge_NN = h_ND @ w_q.T, h_ND @ w_k.T, h_ND @ w_v.T, torch.from_numpy(question.edges)
    root = q.shape[-1] ** 0.5
    beta = 1 / root if question.scaled else 1.0
    scores = beta * torch.einsum("id,de,je->ij", h_ND, w_q.T @ w_k, h_ND)
    yield agree("scores", "the bilinear form of Q^T K", answer["scores"], scores)
    found = {"weights": weights("softmax", q, k, edge_NN, beta=beta)}
    found["output"] = attend("softmax", q, k, v, edge_NN, beta=beta)
    yield agree("weights and output", "the softmax kernel with a mask", answer, found)
    target, source = edge_NN.nonzero(as_tuple=True)
    yield agree("edges", "counted", answer["edges"], len(source))
    graph: Any = kernels.Edges(source, target)
    by_edges = attend("graph", q * beta * root, k, v, graph)
    yield agree("output", "the graph kernel with an edge list", answer["output"], by_edges)
    counted = _by_name([_counted(tokens, question.window) for tokens in question.tokens])
    yield agree("cost of long range", "counting and walking", answer["long_range"], counted)


def attempt(question: Question, write: Attempt) -> None:
    """Edges, scores, weights, new states."""
    h, w_q, w_k, w_v = arrays(question.states, question.w_q, question.w_k, question.w_v)
    edge, root = question.edges, len(w_q) ** 0.5 if question.scaled else 1
    write(
        "edges",
        int(edge.sum()),
        "number of edges, loops included",
        "Does a word also look at itself, and is a pair one edge or two?",
        r"n^2 \text{ without a mask}",
        no_loops=("the loops are left out", int(edge.sum() - edge.diagonal().sum())),
        undirected=("the two directions of a pair are counted as one", int(np.tril(edge | edge.T).sum())),
    )
    scores = write(
        "scores",
        h @ w_q.T @ (h @ w_k.T).T / root,
        "scores: row i asks, column j answers",
        "Which of the two words gives the query, which the key?",
        r"s_{ij} = Q h_i \cdot K h_j",
        swapped=("queries and keys are swapped", h @ w_k.T @ (h @ w_q.T).T / root),
        states=("the states themselves are compared, without Q and K", h @ h.T / root),
    )

    def soft(axis: int) -> Any:
        power = np.exp(np.where(edge, scores - scores.max(), -np.inf))
        return power / np.maximum(power.sum(axis, keepdims=True), 1e-300)

    powers = np.exp(scores) * edge
    weights = write(
        "weights",
        soft(1),
        "attention weights: each row adds up to 1",
        "Over which index do the weights add up to 1: over those who are heard, or over those who hear?",
        r"a_{ij} = \frac{e^{s_{ij}}}{\sum_l e^{s_{il}}}",
        columns=("the softmax runs over the columns", soft(0)),
        total=("all powers are divided by one sum", powers / powers.sum()),
    )
    value = h @ w_v.T
    write(
        "output",
        weights @ value,
        "new states, a row per word",
        "Whose values does a word receive: its own, or those of the words it looks at?",
        r"h_i' = \sum_j a_{ij} V h_j",
        own=("every word keeps its own value", value),
        states_mixed=("the states are mixed, without V", weights @ h),
    )


def draw(random: Random) -> dict[str, Any]:
    """Four words of two entries."""
    matrices = {name: whole(random, -1, 2, 2, 2) for name in ("w_q", "w_k", "w_v")}
    return matrices | {"states": whole(random, -1, 1, 4, 2)}


def _counted(tokens: int, window: int) -> dict[str, float]:
    place = np.arange(tokens)
    neighbours = np.minimum(place, window) + np.minimum(tokens - 1 - place, window) + 1
    hops, reached = 0, 0
    while reached < tokens - 1:
        reached, hops = reached + window, hops + 1
    return {
        "tokens": len(place),
        "edges": int(np.full(tokens, tokens).sum()),
        "window_edges": int(neighbours.sum()),
        "window_hops": hops,
        "margin": brentq(lambda m: 1 / (1 + (tokens - 1) * math.exp(-m)) - 0.5, -1, 20, xtol=1e-14),
    }
