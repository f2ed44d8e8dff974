r"""The scale beta of attention: from the mean of all values (beta = 0) to one of them (beta to infinity).

$H = V \operatorname{softargmax}_\beta(K^T Q)$ with $\operatorname{softargmax}_\beta(s)_j = e^{\beta s_j} /
\sum_l e^{\beta s_l}$. Rows of `q`, `k` and `v` are the document's columns. Shapes: n queries, m keys, d and t
entries of keys and values."""

import math
from collections.abc import Iterator
from fractions import Fraction
from random import Random
from typing import Annotated, Any

import numpy as np
from pydantic import Field
from scipy import optimize, stats
from torch import Tensor

from vitruvius import lessons
from vitruvius.lessons import Answer, Attempt, Board, Exact, Matrix, Proof, Step, exact, latex
from vitruvius.lessons._board import added, dot
from vitruvius.lessons._draws import whole
from vitruvius.lessons._exact import Number, root
from vitruvius.lessons._figures import curves, numbered
from vitruvius.lessons._proofs import agree
from vitruvius.lessons._tensors import Array, arrays, attend, softmax, tensors, weights

SUBJECT = "attention"
TASK = (
    "Attention with the scale beta: weights are the softmax of beta times the products. Rows of q, k "
    "and v are vectors. Work out the products (a row per query), the outputs for each beta (a row per "
    "query), the entropies of the weights in nats, the outputs in the limits of beta to 0 and to "
    "infinity, and the convenient scale."
)
HARD, SOFT = "hard attention, self or cross", "soft attention, self or cross"


class Question(lessons.Question):
    """Two queries over three keys of length 4; a query, key or value is a column of the document's matrix."""

    limits = {"M": (2, 64)}
    q: Annotated[Matrix, "N D"] = exact(((2, 0, 1, 0), (0, 3, 0, 1)))
    k: Annotated[Matrix, "M D"] = exact(((2, 0, 0, 0), (0, 2, 0, 0), (1, 1, 1, 1)))
    v: Annotated[Matrix, "M E"] = exact(((1, 0), (0, 1), (2, 2)))
    betas: Annotated[tuple[Annotated[Exact, Field(ge=0, le=10**6)], ...], "B"] = exact((0, "1/2", 1, 2, 4))
    error: Annotated[Exact, Field(gt=Fraction(1, 10**9), lt=1)] = exact("1/100")
    """How much weight may be left to other keys where one value is to be preserved."""


def solve(question: Question) -> Iterator[Step | Answer]:
    """The output at each scale, both limits, the usual scale, and the one that preserves a value."""
    q, k, v = arrays(question.q, question.k, question.v)
    score, keys, betas = q @ k.T, len(k), question.betas
    gap = score.max(1, keepdims=True) - score
    weights = [softmax(-float(beta) * gap) for beta in betas]
    outputs, entropies = [weight @ v for weight in weights], [_entropy(weight) for weight in weights]
    board = Board(keys=keys, beta=betas[-1], columns=outputs[-1].T, mean=np.mean(entropies[-1]))
    board |= {"outputs": outputs, "entropies": entropies, "weights": weights[-1][0]}
    board["first"] = dot(question.q[0], question.k[0])
    board |= {"most": math.log(keys), "scores": score, "products": score.T}
    yield board.step(
        "Each column of the output mixes the <keys> values with the softargmax of the scaled scores. At the "
        "last scale, <beta>, the mean entropy of the weights is <mean:.4g> nats; <keys> equal weights would "
        "have <most:.4g>. The answer lists the columns, one output per query.",
        r"k_1^T q_1 = <first> = <scores[0][0]>, \quad K^T Q = <products>, \quad \beta = <beta>: \quad "
        r"\operatorname{softargmax}(<beta> \cdot <scores[0]>) = <weights>, \quad H = V "
        r"\operatorname{softargmax}_\beta(K^T Q) = <columns>",
        "scores",
        shows="outputs",
    )
    yield _curve_step(max(*map(float, betas), 1.0), gap, board)
    best = gap == 0
    limits = {"zero": [v.mean(0)] * len(q), "infinity": best / best.sum(1, keepdims=True) @ v}
    board |= {"limits": limits, "sum": added([latex([[x] for x in value]) for value in question.v])}
    board |= {"zero": v.mean(0), "columns": limits["infinity"].T, "n": len(q), "ties": sum(best.sum(1) > 1)}
    yield board.step(
        "At scale 0 all <keys> weights are equal: every query gets the mean of the values, as spread out as "
        "can be. Equal scores do the same at any scale: all keys alike, or a query at right angles to every "
        "difference of two keys (0, for example). That is soft attention, be it self or cross: both only say "
        "where keys and values come from.",
        r"\beta \to 0: \quad h = \frac{1}{<keys>} \left( <sum> \right) = <zero:column>, \qquad s_1 = \dots = "
        r"s_{<keys>} \Rightarrow \operatorname{softargmax}_\beta(s)_j = \frac{1}{<keys>} \text{ for all } "
        r"\beta",
        limits["zero"],
        shows="limits",
    )
    yield board.step(
        "As the scale grows, only the best key counts: hard attention, self or cross. The value comes out as "
        "it is; <ties> of <n> queries have ties, which share their weight evenly.",
        r"\beta \to \infty: \quad H = <columns>",
        limits["infinity"],
    )
    convenient = 1 / root(k.shape[1])
    preserving = [_preserving(row, float(question.error)) for row in gap]
    yield from _scale_steps(question, score, convenient, preserving)
    yield _dense_step(v, best)
    fields = {"outputs": outputs, "entropies": entropies, "limits": limits, "convenient": convenient}
    yield Answer(fields={**fields, "preserving": preserving, "preserves": HARD, "diffuses": SOFT})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """This package's kernels at every scale and at both ends, scipy's entropy and root finder."""
    q, k, v = tensors(question.q, question.k, question.v)
    betas = list(map(float, question.betas))
    outputs = [attend("softmax", q, k, v, beta=beta) for beta in betas]
    yield agree("outputs", "the softmax kernel of this package", answer["outputs"], outputs)
    entropies = [stats.entropy(weights("softmax", q, k, beta=beta), axis=1) for beta in betas]
    yield agree("entropies", "scipy.stats.entropy", answer["entropies"], entropies)
    ends = {"zero": attend("softmax", q, k, v, beta=0.0), "infinity": attend("softmax", q, k, v, beta="inf")}
    yield agree("limits", "the softmax kernel at 0 and infinity", answer["limits"], ends)
    yield agree("convenient", "the length of a key", answer["convenient"], k.shape[-1] ** -0.5)
    lost = [_found_scale(row[None], k, float(question.error)) for row in q]
    method = "root of the kernel's lost weight, by scipy.optimize"
    yield agree("preserving", method, answer["preserving"], lost)
    hard, soft = weights("hardmax", q, k), weights("softmax", q, k, beta=0.0)
    kinds = {HARD: stats.entropy(hard, axis=1).sum(), SOFT: stats.entropy(soft, axis=1).sum()}
    found = {"preserves": min(kinds, key=kinds.__getitem__), "diffuses": max(kinds, key=kinds.__getitem__)}
    yield agree("kinds", "entropy of the hardmax and the softmax kernel", answer, found)


def attempt(question: Question, write: Attempt) -> None:
    """The products, outputs and entropies at each scale, the limits, the usual scale."""
    q, k, v = arrays(question.q, question.k, question.v)
    betas, root_d = [float(beta) for beta in question.betas], k.shape[1] ** 0.5
    score = write(
        "scores",
        q @ k.T,
        "products of queries and keys, a row per query",
        "Which entries are multiplied with which, and what is added up?",
        r"s_{ij} = q_i \cdot k_j",
        divided=("the products are divided by the root of the width", q @ k.T / root_d),
    )

    weights, flatter = ([softmax(beta * score / by) for beta in betas] for by in (1, root_d))
    write(
        "outputs",
        [w @ v for w in weights],
        "outputs for each beta, a row per query",
        "What is multiplied by beta, and what is mixed?",
        r"h_i = \sum_j \operatorname{softmax}_j(\beta \, q_i \cdot k_j) \, v_j",
        scaled_too=("the products are divided by the root of the width as well", [w @ v for w in flatter]),
        swapped=("the softmax runs over the queries", [softmax(b * score.T).T @ v for b in betas]),
    )
    nats = [_entropy(w) for w in weights]
    write(
        "entropies",
        nats,
        "entropies of the weights for each beta, one per query, in nats",
        "Which logarithm belongs to nats?",
        r"-\sum_j w_j \ln w_j",
        bits=("the logarithm to base 2 is taken", [[x / math.log(2) for x in row] for row in nats]),
        sign=("the minus sign is lost", [[-x for x in row] for row in nats]),
    )
    best = score == score.max(1, keepdims=True)
    zero, infinity = np.tile(v.mean(0), (len(q), 1)), best / best.sum(1, keepdims=True) @ v
    write(
        "limits",
        {"zero": zero, "infinity": infinity},
        "outputs in the limits of beta to 0 and to infinity",
        "What do the weights become when all scores are 0, and what when one leads by far?",
        r"\beta \to 0: \frac1n \sum_j v_j, \quad \beta \to \infty: v_{\arg\max}",
        exchanged=("the two limits are exchanged", {"zero": infinity, "infinity": zero}),
        sum_of_values=("the values are added, not averaged", {"zero": zero * len(v), "infinity": infinity}),
    )
    write(
        "convenient",
        1 / root_d,
        "convenient scale",
        "Which scale keeps the variance of the scores at 1?",
        r"\beta = \frac{1}{\sqrt{d}}",
        one_over_d=("the root is forgotten", 1 / k.shape[1]),
        root_itself=("the root is multiplied with, not divided by", root_d),
    )


def draw(random: Random) -> dict[str, Any]:
    """Two queries and three keys of length 4, without ties."""
    while True:
        q, k = whole(random, -1, 2, 2, 4), whole(random, -1, 2, 3, 4)
        scores = [[sum(a * b for a, b in zip(x, y, strict=True)) for y in k] for x in q]
        if all(len(set(row)) == len(row) for row in scores):
            return {"q": q, "k": k, "v": whole(random, -1, 3, 3, 2), "betas": [0, "1/2", 1, 2]}


def _found_scale(q_1D: Tensor, k: Tensor, error: float) -> float | None:
    """The scale at which the kernel leaves `error` of the weight to all keys but the best, searched for."""

    def excess(beta: float) -> float:
        return float(weights("softmax", q_1D, k, beta=beta).flatten().sort().values[:-1].sum()) - error

    lead = float((q_1D @ k.T).flatten().sort().values.diff()[-1])
    if excess(0.0) <= 0:
        return 0.0
    return optimize.brentq(excess, 0.0, 60.0 / lead, xtol=1e-15, rtol=1e-14) if lead else None


def _curve_step(top: float, gap: Array, worked: Board) -> Step:
    grid = [top * part / 40 for part in range(41)]
    entropies = np.array([_entropy(softmax(-beta * gap)) for beta in grid]).T
    named = dict(zip(numbered("query ", len(gap)), entropies, strict=True))
    shares = [weight for weight in worked["weights"].tolist() if weight > 0]
    sum_of = added([rf"{latex(weight)} \ln {latex(weight)}" for weight in shares])
    board = Board(worked.pick("entropies beta"), top=top, first=entropies[0], sum=sum_of)
    return board.step(
        "A larger scale widens the gaps between scores, so weight moves to the best key and the entropy "
        "falls, for query 1 from <first[0]:.4g> at 0 to <first[-1]:.4g> at <top:g>.",
        r"-\sum_j w_j \ln w_j, \quad \beta = <beta>: \quad -(<sum>) = <entropies[-1][0]>",
        {"betas": grid, "entropies": entropies},
        curves("How spread the weights are", named, grid, ("beta", "entropy in nats")),
        "entropies",
    )


def _scale_steps(
    question: Question, score: Array, convenient: Number, preserving: list[float | None]
) -> Iterator[Step]:
    board = Board(dim=len(question.k[0]), convenient=convenient, before=score.std(), error=question.error)
    board["after"] = board["before"] * float(convenient)
    yield board.step(
        "The convenient scale is one over the root of <dim>, the length of a key: products of vectors with "
        "independent entries of variance 1 then have variance 1 at any length. Here the deviation of the "
        "scores goes from <before:.4g> to <after:.4g>.",
        r"\beta = \frac{1}{\sqrt{<dim>}} = <convenient>",
    )
    shown = score[next((i for i, beta in enumerate(preserving) if beta), 0)]
    gaps = sorted(shown.max() - shown)[1:]
    board["powers"] = " + ".join(rf"e^{{-{gap:.6g} \beta}}".replace("-1 ", "-") for gap in gaps)
    board["part"] = question.error / (1 - question.error)
    board["found"] = ["none (a tie)" if beta is None else beta for beta in preserving]
    yield board.step(
        "To preserve a value all but <error> of the weight must go to its key. That takes a scale of <found> "
        "for the queries in turn: what counts is the gap to the next best score, not the score itself. An "
        "exact copy needs an infinite scale, or argmax.",
        r"\sum_{j \neq \ast} e^{-\beta (s_\ast - s_j)} = <powers> = <part>",
        preserving,
    )


def _dense_step(v: Array, best: Array) -> Step:
    keys, length = v.shape
    first, last = best[0].argmax(), best[-1].argmax()
    error = np.linalg.norm(v[first] - v[last])
    board = Board(keys=keys, weights=keys * length**2, place=first + 1, error=error)
    return board.step(
        "A fully connected layer from all <keys> values to one output has <weights> weights. To preserve "
        "value <place> its block must be the identity and the rest 0; to diffuse, all blocks must be the "
        "identity over <keys>. Both are fixed once trained: asked for the last query's value, the first is "
        "off by <error:.4g>, while attention chooses by content.",
        r"\text{preserve: } W = [\,0, \dots, I, \dots, 0\,], \quad \text{diffuse: } W = \frac{1}{<keys>} "
        r"[\,I, \dots, I\,]",
        "weights error",
    )


def _entropy(weight: Array) -> list[float]:
    """The entropy of each row, in nats."""
    return [-sum(w * math.log(w) for w in row if w > 0) for row in weight.tolist()]


def _preserving(gap_M: Array, error: float) -> float | None:
    """The scale at which all keys but the best have `error` of the weight; None if the best is tied."""
    gaps, limit = sorted(gap_M.tolist())[1:], error / (1 - error)
    if len(gaps) <= limit:
        return 0.0
    if gaps[0] == 0:
        return None
    low, high = 0.0, math.log(len(gaps) / limit) / gaps[0]
    for _ in range(100):
        middle = (low + high) / 2
        missed = sum(math.exp(-middle * gap) for gap in gaps) > limit
        low, high = (middle, high) if missed else (low, middle)
    return high
