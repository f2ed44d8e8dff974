r"""What becomes of attention when one key moves: exactly, to first order, and on average over noise.

With $w$ the weight of key $j$ and $r$ the mixture of the other values, $h = w v_j + (1 - w) r$. Moving $k_j$ by
$\epsilon$ changes only $w$: $w' = w e^\delta / (1 - w + w e^\delta)$ with $\delta = \beta\, q \cdot \epsilon$. To first
order $h' = h + w (v_j - h)\, \delta$. Rows of `q`, `k` and `v` are the document's columns.
"""

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from vitruvius import lessons
from vitruvius.lessons import Answer, Exact, Matrix, Proof, Step, Vector, _board, _shapes, exact
from vitruvius.lessons._board import short
from vitruvius.lessons._figures import curves
from vitruvius.lessons._proofs import agree, within
from vitruvius.lessons._tensors import tensor

if TYPE_CHECKING:
    from torch import Tensor

    Attend = Callable[[Tensor], Tensor]
    Array = np.ndarray[Any, Any]

SUBJECT = "attention"
"""Queries, keys, and entries of a vector."""
DRAWS = 20_000
"""Simulated keys."""
CHANGES = ("epsilon", "sigma", "stretch")


class Question(lessons.Question):
    """Two queries, three keys; the middle key is disturbed by noise of deviation 1/10 unless something else is said."""

    q: Matrix = exact(((1, 2, 0, 0), (2, -1, 1, 0)))
    k: Matrix = exact(((2, 0, 0, 0), (0, 2, 0, 0), (1, 1, 1, 1)))
    v: Matrix = exact(((1, 0), (0, 1), (2, 2)))
    index: int = 1
    """The key that changes, counted from 0."""
    epsilon: Vector | None = None
    """A vector added to the key."""
    sigma: Annotated[Exact, Field(gt=0, le=1000)] | None = None
    """Deviation of each entry of a Gaussian vector added to the key."""
    stretch: Exact | None = None
    """A factor the key is multiplied with."""
    beta: Annotated[Exact, Field(gt=0)] | None = None
    """Scale of the scores; null: one over the root of the keys' length."""

    @model_validator(mode="before")
    @classmethod
    def _noise_unless_said(cls, given: Any) -> Any:
        if isinstance(given, dict) and all(given.get(change) is None for change in CHANGES):
            return {**given, "sigma": "1/10"}
        return given

    @model_validator(mode="after")
    def _fits(self) -> Self:
        _shapes.attended(self, ("q", "k", "v"), keys=2)
        if not 0 <= self.index < len(self.k):
            raise ValueError(f"index is {self.index}: it needs 0 to {len(self.k) - 1}")
        said = [change for change in CHANGES if getattr(self, change) is not None]
        if len(said) > 1:
            raise ValueError(f"{' and '.join(said)} are given: it needs one of epsilon, sigma and stretch")
        if self.epsilon is not None:
            _shapes.vector("epsilon", self.epsilon, len(self.k[0]), "entry of a key")
        return self

    @property
    def scale(self) -> float:
        """What scores are multiplied with."""
        return len(self.k[0]) ** -0.5 if self.beta is None else float(self.beta)


class State(NamedTuple):
    """Attention before the change. n queries, t entries of a value."""

    score_n: "Array"  # of the key that changes, times beta
    odds_n: "Array"  # its log-odds: the score less the logarithm of the other keys' exponentials
    length_n: "Array"  # of each query, times beta
    value_t: "Array"  # that belongs to the key
    rest_nt: "Array"  # mixture of the other values

    def output(self, weight_n: "Array") -> "Array":
        """The outputs if the key had these weights."""
        return weight_n[:, None] * self.value_t + (1 - weight_n[:, None]) * self.rest_nt


def solve(question: Question) -> Iterator[Step | Answer]:
    """Before, the one number that changes, after, and for whom a longer key is better."""
    state = _state(question)
    weight_n = _logistic(state.odds_n)
    before_nt = state.output(weight_n)
    slope_nt = weight_n[:, None] * (state.value_t - before_nt)
    yield _slope_step(state, float(weight_n[0]), slope_nt)
    if question.sigma is None:
        shift_n, covariance = _shift(question, state), None
        after_nt, first_nt = state.output(_logistic(state.odds_n + shift_n)), before_nt + slope_nt * shift_n[:, None]
        yield _exact_step(shift_n, after_nt, first_nt)
    else:
        deviation_n = float(question.sigma) * state.length_n
        mean_n, variance_n = _noisy(state.odds_n, deviation_n)
        after_nt, first_nt = state.output(mean_n), before_nt
        covariance = [(d * d * np.outer(s, s)).tolist() for d, s in zip(deviation_n, slope_nt, strict=True)]
        spread = float(variance_n[0] * ((state.value_t - state.rest_nt[0]) ** 2).sum())
        yield _noise_step(weight_n, mean_n, covariance, spread)
    helps = [bool(score > 0) for score in state.score_n]
    yield _stretch_step(question, state, helps)
    outputs = {"output_before": before_nt, "output_after": after_nt, "first_order": first_nt}
    fields = {name: output_nt.tolist() for name, output_nt in outputs.items()}
    yield Answer(fields={**fields, "covariance": covariance, "helps": helps})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """This package's kernel before and after, its derivative by autograd; noise by quadrature and by simulation."""
    import torch

    attend, key_d = _kernel(question), tensor(question.k[question.index])
    before_nt = attend(key_d[None])[0]
    slope_ntd = torch.func.jacrev(lambda key_d: attend(key_d[None])[0])(key_d)
    yield agree("before", "the softmax kernel of this package", answer["output_before"], before_nt)
    yield agree("helps", "sign of q . k", answer["helps"], (tensor(question.q) @ key_d > 0).tolist())
    if question.sigma is not None:
        yield from _noise_proofs(question, answer, attend, slope_ntd)
        return
    moved_d = key_d + tensor(question.epsilon) if question.epsilon else key_d * float(question.stretch or 0)
    yield agree("after", "the kernel with the changed key", answer["output_after"], attend(moved_d[None])[0])
    yield agree("first order", "its derivative", answer["first_order"], before_nt + slope_ntd @ (moved_d - key_d))
    yield agree("covariance", "nothing is random", answer["covariance"], None)


def _noise_proofs(question: Question, answer: Answer, attend: "Attend", slope_ntd: "Tensor") -> Iterator[Proof]:
    import torch
    from scipy import integrate

    sigma, q_nd, key_d = float(question.sigma or 0), tensor(question.q), tensor(question.k[question.index])
    yield agree("first order", "the kernel without noise", answer["first_order"], attend(key_d[None])[0])
    yield agree("covariance", "its derivative by autograd", answer["covariance"], sigma**2 * slope_ntd @ slope_ntd.mT)
    way_nd = q_nd / q_nd.norm(dim=1, keepdim=True).clamp_min(1e-300)  # only noise along a query moves its score

    def density(z: float) -> "Array":
        outputs_nnt = attend(key_d + sigma * z * way_nd)
        return outputs_nnt.diagonal(dim1=0, dim2=1).T.numpy() * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)

    mean_nt, _ = integrate.quad_vec(density, -12, 12, epsabs=1e-13, epsrel=1e-13)
    yield agree("after", "mean of the kernel by scipy.integrate", answer["output_after"], mean_nt)
    noise = torch.randn(DRAWS, len(key_d), dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    sample_B = attend(key_d + sigma * noise)[:, 0, 0]
    claimed, error = float(answer["output_after"][0][0]), float(sample_B.std()) / DRAWS**0.5
    if error:
        yield within("mean of the first output", f"{DRAWS} simulated keys", claimed, float(sample_B.mean()), error)


def _kernel(question: Question) -> "Attend":
    """Outputs (B, n, t) of this package's kernel with each of B keys in the place of the one that changes."""
    import torch

    from vitruvius import kernels

    q, k, v = (tensor(rows) for rows in (question.q, question.k, question.v))
    kernel, place = kernels.get("softmax"), torch.tensor([question.index])

    def attend(key_Bd: "Tensor") -> "Tensor":
        q_B, k_B, v_B = (rows.expand(len(key_Bd), 1, -1, -1) for rows in (q, k, v))
        k_B = k_B.index_copy(2, place, key_Bd[:, None, None])
        return kernel.attend(q_B, k_B, v_B, beta=question.scale)[:, 0]

    return attend


def _state(question: Question) -> State:
    q, k, v = (np.array(rows, float) for rows in (question.q, question.k, question.v))
    key, others = question.index, np.arange(len(k)) != question.index
    score_nm = question.scale * q @ k.T
    total_n = np.logaddexp.reduce(score_nm[:, others], axis=1)
    rest_nt = np.exp(score_nm[:, others] - total_n[:, None]) @ v[others]
    score_n, length_n = score_nm[:, key], question.scale * np.linalg.norm(q, axis=1)
    return State(score_n, score_n - total_n, length_n, v[key], rest_nt)


def _shift(question: Question, state: State) -> "Array":
    """By how much the change of the key moves its scores, in units of the exponent."""
    if question.stretch is not None:
        return state.score_n * float(question.stretch - 1)
    return question.scale * (np.array(question.q, float) @ np.array(question.epsilon, float))


def _logistic(odds: "Array") -> "Array":
    return 1 / (1 + np.exp(-np.clip(odds, -700, 700)))


def _noisy(odds_n: "Array", deviation_n: "Array") -> tuple["Array", "Array"]:
    """Mean and variance of weights whose log-odds are normal, by the trapezoidal rule."""
    z = np.linspace(-12, 12, 20_001)
    density = np.exp(-z * z / 2)
    density /= density.sum()
    weight_nz = _logistic(odds_n[:, None] + deviation_n[:, None] * z)
    mean_n = weight_nz @ density
    return mean_n, (weight_nz - mean_n[:, None]) ** 2 @ density


def _slope_step(state: State, weight: float, slope_nt: "Array") -> Step:
    return Step(
        says=f"Write the output as a mixture of the key's value, with weight {weight:.6g} for the first query, and of "
        "the mixture r of all others. Moving the key leaves r alone: the output slides along the line between the two, "
        f"by {np.linalg.norm(slope_nt[0]):.6g} per unit of score to first order, and not at all if w is 0 or 1.",
        formula=rf"h = {weight:.6g} {_board.column(state.value_t.tolist())} + {1 - weight:.6g} "
        rf"{_board.column(state.rest_nt[0].tolist())}, \quad h' \approx h + {_board.column(slope_nt[0].tolist())} "
        r"\beta\, q \cdot \epsilon",
        value=slope_nt.tolist(),
    )


def _exact_step(shift_n: "Array", after_nt: "Array", first_nt: "Array") -> Step:
    off = np.linalg.norm(after_nt - first_nt, axis=1).max()
    return Step(
        says=f"Here the scores shift by {short(shift_n.tolist())} for the queries in turn. The exact weight is a "
        f"logistic function of the shift; the first order is off by {off:.4g}.",
        formula=rf"w' = \frac{{w e^\delta}}{{1 - w + w e^\delta}}, \qquad h' = {_board.column(after_nt[0])} \approx "
        + _board.column(first_nt[0]),
        value={"exact": after_nt.tolist(), "first order": first_nt.tolist()},
    )


def _noise_step(weight_n: "Array", mean_n: "Array", covariance: Any, spread: float) -> Step:
    return Step(
        says="Noise of mean 0 does not move the mean to first order; exactly, the first query's weight goes from "
        f"{weight_n[0]:.6g} to {mean_n[0]:.6g}, towards one half. The output spreads along a line: the covariance has "
        f"rank 1, its trace is {np.trace(covariance[0]):.6g} to first order and exactly {spread:.6g}.",
        formula=r"\mathrm{Cov}[h'] \approx \sigma^2 \beta^2 \lVert q \rVert^2 w^2 (v - h)(v - h)^T = "
        + _board.matrix(covariance[0]),
        value={"weights": mean_n.tolist(), "covariance": covariance},
    )


def _stretch_step(question: Question, state: State, helps: list[bool]) -> Step:
    factor_f = np.linspace(1, max(float(question.stretch or 0), 5.0), 41)
    weight_nf = _logistic(state.odds_n[:, None] + state.score_n[:, None] * (factor_f - 1))
    named = {f"query {number}": weight_f for number, weight_f in enumerate(weight_nf.tolist(), 1)}
    return Step(
        says=f"Stretching a key multiplies its score: {sum(helps)} of {len(helps)} queries, those with a positive "
        "product, give it more weight, in the limit all of it; those with a negative one turn away from it. That a "
        "longer key always attracts attention is the common mistake.",
        formula=r"q \cdot (\alpha k) = \alpha\, q \cdot k, \qquad \beta\, q \cdot k = "
        + _board.row(state.score_n.tolist()),
        value=helps,
        figure=curves("Weight of a stretched key", named, factor_f, ("factor", "weight")),
    )
