r"""The scale beta of attention: from the mean of all values (beta = 0) to one of them (beta to infinity).

$H = V \operatorname{softargmax}_\beta(K^T Q)$ with $\operatorname{softargmax}_\beta(s)_j = e^{\beta s_j} / \sum_l
e^{\beta s_l}$. Rows of `q`, `k` and `v` are the document's columns. Shapes: n queries, m keys, d and t entries of keys
and values.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from pydantic import Field, model_validator

from vitruvius import lessons
from vitruvius.lessons import Answer, Exact, Matrix, Proof, Step, Vector, _board, _shapes, exact
from vitruvius.lessons._figures import curves
from vitruvius.lessons._proofs import agree

if TYPE_CHECKING:
    from torch import Tensor

    from vitruvius.kernels import Kernel

    Array = np.ndarray[Any, Any]

SUBJECT = "attention"
"""Queries, keys, scales, and entries of a vector."""
HARD, SOFT = "hard attention, self or cross", "soft attention, self or cross"


class Question(lessons.Question):
    """Two queries over three keys of length 4."""

    q: Matrix = exact(((2, 0, 1, 0), (0, 3, 0, 1)))
    """One query per row: a column of the document's Q."""
    k: Matrix = exact(((2, 0, 0, 0), (0, 2, 0, 0), (1, 1, 1, 1)))
    v: Matrix = exact(((1, 0), (0, 1), (2, 2)))
    betas: Vector = exact((0, "1/2", 1, 2, 4))
    error: Annotated[Exact, Field(gt=Fraction(1, 10**9), lt=1)] = exact("1/100")
    """How much weight may be left to other keys where one value is to be preserved."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        _shapes.attended(self, ("q", "k", "v"), keys=2)
        if not 1 <= len(self.betas) <= _shapes.LARGEST or min(self.betas) < 0 or max(self.betas) > 10**6:
            needs = f"it needs 1 to {_shapes.LARGEST} numbers from 0 to a million"
            raise ValueError(f"betas has {', '.join(map(str, self.betas)) or 'nothing'}: {needs}")
        return self


def solve(question: Question) -> Iterator[Step | Answer]:
    """The output at each scale, both limits, the usual scale, and the one that preserves a value."""
    q, k, v = (np.array(rows, float) for rows in (question.q, question.k, question.v))
    score = q @ k.T
    weights = [_softargmax(score, float(beta)) for beta in question.betas]
    outputs, entropies = [(weight @ v).tolist() for weight in weights], [_entropy(weight) for weight in weights]
    yield _output_step(question, outputs[-1], entropies)
    yield _curve_step(question, score)
    best = score == score.max(1, keepdims=True)
    limits = {"zero": [v.mean(0).tolist()] * len(q), "infinity": (best / best.sum(1, keepdims=True) @ v).tolist()}
    yield from _limit_steps(limits, best)
    convenient = _over_root(len(question.k[0]))
    yield Step(
        says=f"The convenient scale is one over the root of {len(question.k[0])}, the length of a key: products of "
        "vectors with independent entries of variance 1 then have variance 1 at any length. Here the deviation of "
        f"the scores goes from {score.std():.4g} to {score.std() * float(convenient):.4g}.",
        formula=rf"\beta = \frac{{1}}{{\sqrt{{{len(question.k[0])}}}}} = {_board.number(convenient)}",
        value=convenient,
    )
    preserving = [_preserving(row, float(question.error)) for row in score]
    yield _preserving_step(question, score, preserving)
    yield _dense_step(v, best)
    fields = {"outputs": outputs, "entropies": entropies, "limits": limits, "convenient": convenient}
    yield Answer(fields={**fields, "preserving": preserving, "preserves": HARD, "diffuses": SOFT})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """This package's kernels at every scale and at both ends, scipy's entropy and root finder."""
    import torch
    from scipy import stats

    from vitruvius import kernels

    q, k, v = (torch.tensor(rows, dtype=torch.float64)[None, None] for rows in (question.q, question.k, question.v))
    softmax, hardmax, betas = kernels.get("softmax"), kernels.get("hardmax"), list(map(float, question.betas))
    outputs = [softmax.attend(q, k, v, beta=beta)[0, 0].tolist() for beta in betas]
    yield agree("outputs", "the softmax kernel of this package", answer["outputs"], outputs)
    entropies = [stats.entropy(softmax.weights(q, k, beta=beta)[0, 0], axis=1).tolist() for beta in betas]
    yield agree("entropies", "scipy.stats.entropy", answer["entropies"], entropies)
    ends = {"zero": softmax.attend(q, k, v, beta=0.0)[0, 0], "infinity": softmax.attend(q, k, v, beta="inf")[0, 0]}
    yield agree("limits", "the softmax kernel at 0 and infinity", answer["limits"], ends)
    yield agree("convenient", "the length of a key", answer["convenient"], k.shape[-1] ** -0.5)
    lost = [_found_scale(softmax, q[:, :, i : i + 1], k, float(question.error)) for i in range(q.shape[2])]
    yield agree("preserving", "root of the kernel's lost weight, by scipy.optimize", answer["preserving"], lost)
    hard, soft = hardmax.weights(q, k)[0, 0], softmax.weights(q, k, beta=0.0)[0, 0]
    kinds = {HARD: stats.entropy(hard, axis=1).sum(), SOFT: stats.entropy(soft, axis=1).sum()}
    claimed = {"preserves": answer["preserves"], "diffuses": answer["diffuses"]}
    found = {"preserves": min(kinds, key=kinds.__getitem__), "diffuses": max(kinds, key=kinds.__getitem__)}
    yield agree("kinds", "entropy of the hardmax and the softmax kernel", claimed, found)


def _found_scale(softmax: "Kernel", q: "Tensor", k: "Tensor", error: float) -> float | None:
    """The scale at which a kernel leaves `error` of the weight to all keys but the best, searched for."""
    from scipy import optimize

    def excess(beta: float) -> float:
        return float(softmax.weights(q, k, beta=beta).flatten().sort().values[:-1].sum()) - error

    lead = float((q @ k.mT).flatten().sort().values.diff()[-1])
    if excess(0.0) <= 0:
        return 0.0
    return optimize.brentq(excess, 0.0, 60.0 / lead, xtol=1e-15, rtol=1e-14) if lead else None


def _output_step(question: Question, output: list[list[float]], entropies: list[list[float]]) -> Step:
    beta = question.betas[-1]
    return Step(
        says=f"Each column of the output mixes the {len(question.v)} values with the softargmax of the scaled scores. "
        f"At the last scale, {beta}, the mean entropy of the weights is {np.mean(entropies[-1]):.4g} nats; "
        f"{len(question.v)} equal weights would have {math.log(len(question.v)):.4g}. The answer lists "
        "the columns, one output per query.",
        formula=rf"H = V \operatorname{{softargmax}}_\beta(K^T Q) = {_board.matrix(list(zip(*output, strict=True)))}"
        rf" \quad (\beta = {_board.number(beta)})",
        value=output,
    )


def _curve_step(question: Question, score: "Array") -> Step:
    top = max(*map(float, question.betas), 1.0)
    grid = [top * part / 40 for part in range(41)]
    entropies = np.array([_entropy(_softargmax(score, beta)) for beta in grid]).T
    named = {f"query {number}": spread for number, spread in enumerate(entropies.tolist(), 1)}
    return Step(
        says="A larger scale widens the gaps between scores, so weight moves to the best key and the entropy falls, "
        f"for query 1 from {entropies[0, 0]:.4g} at 0 to {entropies[0, -1]:.4g} at {top:g}.",
        value={"betas": grid, "entropies": entropies.tolist()},
        figure=curves("How spread the weights are", named, grid, ("beta", "entropy in nats")),
    )


def _limit_steps(limits: dict[str, list[list[float]]], best: "Array") -> Iterator[Step]:
    yield Step(
        says=f"At scale 0 all {best.shape[1]} weights are equal: every query gets the mean of the values, as spread "
        "out as can be. That is soft attention, be it self or cross: both only say where keys and values come from.",
        formula=rf"\beta \to 0: \quad h = \frac{{1}}{{{best.shape[1]}}} \sum_j v_j = "
        + _board.column(limits["zero"][0]),
        value=limits["zero"],
    )
    ties = int((best.sum(1) > 1).sum())
    yield Step(
        says="As the scale grows, only the best key counts: hard attention, self or cross. The value comes out as it "
        f"is; {ties} of {len(best)} queries have ties, which share their weight evenly.",
        formula=rf"\beta \to \infty: \quad H = {_board.matrix(list(zip(*limits['infinity'], strict=True)))}",
        value=limits["infinity"],
    )


def _preserving_step(question: Question, score: "Array", preserving: list[float | None]) -> Step:
    index = next((i for i, beta in enumerate(preserving) if beta), 0)
    gaps = sorted(score[index].max() - score[index])[1:]
    powers = " + ".join(rf"e^{{-{gap:.6g} \beta}}".replace("-1 ", "-") for gap in gaps)
    part = question.error / (1 - question.error)
    found = ", ".join("none (a tie)" if beta is None else f"{beta:.6g}" for beta in preserving)
    return Step(
        says=f"To preserve a value all but {question.error} of the weight must go to its key. That takes a scale of "
        f"{found} for the queries in turn: what counts is the gap to the next best score, not the score itself. An "
        "exact copy needs an infinite scale, or argmax.",
        formula=rf"\sum_{{j \neq \ast}} e^{{-\beta (s_\ast - s_j)}} = {powers} = {_board.number(part)}",
        value=preserving,
    )


def _dense_step(v: "Array", best: "Array") -> Step:
    keys, length = v.shape
    first, last = int(best[0].argmax()), int(best[-1].argmax())
    off = float(np.linalg.norm(v[first] - v[last]))
    return Step(
        says=f"A fully connected layer from all {keys} values to one output has {keys * length**2} weights. To "
        f"preserve value {first + 1} its block must be the identity and the rest 0; to diffuse, all blocks must be the "
        f"identity over {keys}. Both are fixed once trained: asked for the last query's value, the first is off by "
        f"{off:.4g}, while attention chooses by content.",
        formula=rf"\text{{preserve: }} W = [\,0, \dots, I, \dots, 0\,], \quad \text{{diffuse: }} W = "
        rf"\frac{{1}}{{{keys}}} [\,I, \dots, I\,]",
        value={"weights": keys * length**2, "error": off},
    )


def _softargmax(score: "Array", beta: float) -> "Array":
    power = np.exp(beta * (score - score.max(1, keepdims=True)))
    return power / power.sum(1, keepdims=True)


def _entropy(weight: "Array") -> list[float]:
    """Of each row, in nats."""
    return [-sum(w * math.log(w) for w in row if w > 0) for row in weight.tolist()]


def _preserving(score: "Array", error: float) -> float | None:
    """The scale at which all keys but the best have `error` of the weight; None if the best is tied."""
    gaps = sorted(float(score.max() - s) for s in score)[1:]
    limit = error / (1 - error)
    if len(gaps) <= limit:
        return 0.0
    if gaps[0] == 0:
        return None
    low, high = 0.0, math.log(len(gaps) / limit) / gaps[0]
    for _ in range(100):
        middle = (low + high) / 2
        if sum(math.exp(-middle * gap) for gap in gaps) > limit:
            low = middle
        else:
            high = middle
    return high


def _over_root(dim: int) -> Fraction | float:
    root = math.isqrt(dim)
    return Fraction(1, root) if root**2 == dim else dim**-0.5
