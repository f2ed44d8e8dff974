r"""What becomes of attention when one key moves: exactly, to first order, and on average over noise.

With $w$ the weight of key $j$ and $r$ the mixture of the other values, $h = w v_j + (1 - w) r$. Moving $k_j$
by $\epsilon$ changes only $w$: $w' = w e^\delta / (1 - w + w e^\delta)$ with $\delta = \beta\, q \cdot
\epsilon$. To first order $h' = h + w (v_j - h)\, \delta$. Rows of `q`, `k` and `v` are the document's
columns."""

import math
from collections.abc import Iterator
from fractions import Fraction
from random import Random
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
from pydantic import Field, model_validator
from scipy import integrate
from torch import Tensor

from vitruvius import kernels, lessons
from vitruvius.lessons import Answer, Attempt, Board, Exact, Matrix, Proof, Step, Vector, exact
from vitruvius.lessons._draws import whole
from vitruvius.lessons._figures import curves, numbered
from vitruvius.lessons._proofs import agree, within
from vitruvius.lessons._tensors import Array, arrays, tensor, tensors

SUBJECT = "attention"
TASK = (
    "One key of softmax attention changes: the key of index <index> (counted from 0), in scores "
    "divided by the root of the keys' length. Rows of q, k and v are vectors. Work out the outputs "
    "before the change, their slope by the score of that key, the outputs after it, and the outputs "
    "to first order."
)
DRAWS = 20_000
"""Simulated keys."""
CHANGES = ("epsilon", "sigma", "stretch")


class Question(lessons.Question):
    """Two queries, three keys; noise of deviation 1/10 on the middle key unless another change is given."""

    limits = {"M": (2, 64)}
    q: Annotated[Matrix, "N D"] = exact(((1, 2, 0, 0), (2, -1, 1, 0)))
    k: Annotated[Matrix, "M D"] = exact(((2, 0, 0, 0), (0, 2, 0, 0), (1, 1, 1, 1)))
    v: Annotated[Matrix, "M E"] = exact(((1, 0), (0, 1), (2, 2)))
    index: int = 1
    """The key that changes, counted from 0."""
    epsilon: Annotated[Vector | None, "D"] = None
    """A vector added to the key."""
    sigma: Annotated[Exact, Field(gt=0, le=1000)] | None = None
    """Deviation of each entry of a Gaussian vector added to the key."""
    stretch: Exact | None = None
    """A factor the key is multiplied with."""
    beta: Annotated[Exact, Field(gt=0)] | None = None
    """Scale of the scores; null: one over the root of the keys' length."""

    @model_validator(mode="before")
    @classmethod
    def _noise_by_default(cls, given: Any) -> Any:
        if isinstance(given, dict) and all(given.get(change) is None for change in CHANGES):
            return {**given, "sigma": "1/10"}
        return given

    def refuse(self) -> None:
        if not 0 <= self.index < len(self.k):
            raise ValueError(f"index is {self.index}: it needs 0 to {len(self.k) - 1}")
        said = [change for change in CHANGES if getattr(self, change) is not None]
        if len(said) > 1:
            raise ValueError(f"{' and '.join(said)} are given: it needs one of epsilon, sigma and stretch")

    @property
    def scale(self) -> float:
        """What scores are multiplied with."""
        return len(self.k[0]) ** -0.5 if self.beta is None else float(self.beta)

    @property
    def change(self) -> Array:
        """What is added to the key, unless it is random."""
        stretched = [((self.stretch or 0) - 1) * entry for entry in self.k[self.index]]
        return np.array(self.epsilon or stretched, float)


class State(NamedTuple):
    """Attention before the change. n queries, t entries of a value."""

    score_n: Array  # of the key that changes, times beta
    odds_n: Array  # its log-odds: the score less the logarithm of the other keys' exponentials
    value_t: Array  # that belongs to the key
    rest_nt: Array  # mixture of the other values

    def output(self, weight_n: Array) -> Array:
        """The outputs if the key had these weights."""
        return weight_n[:, None] * self.value_t + (1 - weight_n[:, None]) * self.rest_nt


def solve(question: Question) -> Iterator[Step | Answer]:
    """Before, the one number that changes, after, and for whom a longer key is better."""
    state = _state(question)
    weight_n = _logistic(state.odds_n)
    before_nt = state.output(weight_n)
    slope_nt = weight_n[:, None] * (state.value_t - before_nt)
    board = Board(w=weight_n[0], others=1 - weight_n[0], value=state.value_t, rest=state.rest_nt[0])
    board |= {"slope": slope_nt, "rate": np.linalg.norm(slope_nt[0]), "output_before": before_nt}
    yield board.step(
        "Write the output as a mixture of the key's value, with weight <w> for the first query, and of the "
        "mixture r of all others. Moving the key leaves r alone: the output slides along the line between "
        "the two, by <rate> per unit of score to first order, and not at all if w is 0 or 1.",
        r"h = <w:.6g> <value:column> + <others:.6g> <rest:column> = <output_before[0]:column>, \quad h' "
        r"\approx h + <slope[0]:column> \beta\, q \cdot \epsilon",
        "slope",
        shows="output_before",
    )
    board |= {"t": slope_nt.shape[1], "d": len(question.k[0]), "scale": question.scale}
    board["jacobian"] = question.scale * np.outer(slope_nt[0], np.array(question.q[0], float))
    yield board.step(
        "In general: only the score of this key moves, the derivative of its weight by that score is w(1 - "
        "w), and of the score by the key beta q. The Jacobian of the output in the key is therefore <t> x "
        "<d> and has rank 1: the output moves along v - h, and only the part of the change along q counts. A "
        "change at right angles to the query (q . epsilon = 0) changes nothing at all.",
        r"\frac{\partial h}{\partial k_j} = \beta\, w_j (v_j - h)\, q^T = <jacobian>",
    )
    yield (_exact_step if question.sigma is None else _noise_step)(question, state, board)
    helps = [bool(score > 0) for score in state.score_n]
    factor_f = np.linspace(1, max(float(question.stretch or 0), 5.0), 41)
    weight_nf = _logistic(state.odds_n[:, None] + state.score_n[:, None] * (factor_f - 1))
    named = dict(zip(numbered("query ", len(helps)), weight_nf, strict=True))
    board |= {"helps": helps, "helped": sum(helps), "n": len(helps), "score": state.score_n}
    yield board.step(
        "Stretching a key multiplies its score: <helped> of <n> queries, those with a positive product, give "
        "it more weight, in the limit all of it; those with a negative one turn away from it, and a query at "
        "right "
        "angles (q . k = 0) does not notice: 0 times any factor is 0, its output stays. That a longer key "
        "always attracts attention is the common mistake.",
        r"q \cdot (\alpha k) = \alpha\, q \cdot k, \qquad \beta\, q \cdot k = <score>",
        "helps",
        curves("Weight of a stretched key", named, factor_f, ("factor", "weight")),
    )
    yield Answer(fields=board.pick("output_before output_after first_order covariance helps"))


def _exact_step(question: Question, state: State, board: Board) -> Step:
    """A known change: the outputs after it, exactly and to first order."""
    shift_n = question.scale * (np.array(question.q, float) @ question.change)
    after_nt = state.output(_logistic(state.odds_n + shift_n))
    first_nt = board["output_before"] + board["slope"] * shift_n[:, None]
    board |= {"shift": shift_n, "output_after": after_nt, "first_order": first_nt, "covariance": None}
    board["off"] = np.linalg.norm(after_nt - first_nt, axis=1).max()
    return board.step(
        "Here the scores shift by <shift> for the queries in turn. The exact weight is a logistic function "
        "of the shift; the first order is off by <off:.4g>.",
        r"w' = \frac{w e^\delta}{1 - w + w e^\delta}, \qquad h' = <output_after[0]:column> \approx "
        r"<first_order[0]:column>",
        {"exact": after_nt, "first order": first_nt},
    )


def _noise_step(question: Question, state: State, board: Board) -> Step:
    """A random change: the mean of the outputs, and their covariance to first order."""
    (q_nd, z_g), slope_nt = arrays(question.q, np.linspace(-12, 12, 20_001)), board["slope"]
    deviation_n = float(question.sigma or 0) * (question.scale * np.linalg.norm(q_nd, axis=1))
    # Mean and variance of weights whose log-odds are normal, by the trapezoidal rule.
    density_g = np.exp(-z_g * z_g / 2) / np.exp(-z_g * z_g / 2).sum()
    weight_ng = _logistic(state.odds_n[:, None] + deviation_n[:, None] * z_g)
    mean_n = weight_ng @ density_g
    variance = (weight_ng[0] - mean_n[0]) ** 2 @ density_g
    covariance = _covariances(question, slope_nt, 2)
    board |= {"weights": mean_n, "covariance": covariance, "trace": np.trace(covariance[0])}
    board |= {"output_after": state.output(mean_n), "first_order": board["output_before"]}
    board["spread"] = variance * ((state.value_t - state.rest_nt[0]) ** 2).sum()
    return board.step(
        "Noise of mean 0 does not move the mean to first order; exactly, the first query's weight goes from "
        "<w> to <weights[0]>, towards one half. The output spreads along a line: the covariance has rank 1, "
        "its trace is <trace> to first order and exactly <spread>.",
        r"\mathrm{Cov}[h'] \approx \sigma^2 \beta^2 \lVert q \rVert^2 w^2 (v - h)(v - h)^T = <covariance[0]>",
        "weights covariance",
    )


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """The kernel before and after, its derivative by autograd; noise by quadrature and by simulation."""
    key_d = tensor(question.k[question.index])
    before_nt = _attend(question, key_d[None])[0]
    slope_ntd = torch.func.jacrev(lambda key_d: _attend(question, key_d[None])[0])(key_d)
    yield agree("before", "the softmax kernel of this package", answer["output_before"], before_nt)
    yield agree("helps", "sign of q . k", answer["helps"], tensor(question.q) @ key_d > 0)
    if question.sigma is not None:
        yield from _noise_proofs(question, answer, before_nt, slope_ntd)
        return
    moved_d = key_d + tensor(question.epsilon) if question.epsilon else key_d * float(question.stretch or 0)
    after_nt, tangent_nt = _attend(question, moved_d[None])[0], before_nt + slope_ntd @ (moved_d - key_d)
    yield agree("after", "the kernel with the changed key", answer["output_after"], after_nt)
    yield agree("first order", "its derivative", answer["first_order"], tangent_nt)
    yield agree("covariance", "nothing is random", answer["covariance"], None)


def attempt(question: Question, write: Attempt) -> None:
    """Before, the slope, after, and to first order."""
    state, (q,) = _state(question), arrays(question.q)
    weight = _logistic(state.odds_n)
    unscaled = _logistic(_state(question.model_copy(update={"beta": Fraction(1)})).odds_n)
    before = write(
        "output_before",
        state.output(weight),
        "outputs before the change, a row per query",
        "What are the scores divided by, and what is mixed?",
        r"h = \sum_j w_j v_j, \quad w = \operatorname{softmax}(q \cdot k_j / \sqrt{d})",
        unscaled=("the scores are not divided by the root of the keys' length", state.output(unscaled)),
        value_only=("the other values are left out", weight[:, None] * state.value_t),
    )
    from_rest = weight[:, None] * (state.value_t - state.rest_nt)
    slope = write(
        "slope",
        weight[:, None] * (state.value_t - before),
        "slope of each output by the score of the key",
        "From where does the output move, and towards which value?",
        r"\frac{\partial h}{\partial s_j} = w_j (v_j - h)",
        from_rest=("the mixture of the others is taken for the output", from_rest),
        no_weight=("the weight in front is forgotten", state.value_t - before),
    )
    if question.sigma is not None:
        write(
            "covariance",
            _covariances(question, slope, 2),
            "covariance of each output to first order",
            "How does the variance of the key's noise reach the score, and how the output?",
            r"\sigma^2 \beta^2 \lVert q \rVert^2 \, g g^T, \quad g = w_j (v_j - h)",
            deviation=("the deviation is taken for the variance", _covariances(question, slope, 1)),
        )
        return
    along = q @ question.change
    shift, undivided = question.scale * along, "the shift is not divided by the root of the keys' length"
    raised = (weight * (np.exp(shift) - 1))[:, None] * state.value_t
    write(
        "output_after",
        state.output(_logistic(state.odds_n + shift)),
        "outputs after the change",
        "Which weights change when one score does?",
        r"w' = \frac{w e^\delta}{1 - w + w e^\delta}, \quad \delta = q \cdot \epsilon / \sqrt{d}",
        not_normalised=("the weights are not normalised again", before + raised),
        unscaled_shift=(undivided, state.output(_logistic(state.odds_n + along))),
    )
    write(
        "first_order",
        before + slope * shift[:, None],
        "outputs after the change to first order",
        "By how much does the score move?",
        r"h' \approx h + w_j (v_j - h) \, \delta",
        unscaled_order=(undivided, before + slope * along[:, None]),
    )


def _covariances(question: Question, slope_nt: Array, power: int) -> Array:
    (q_nd,), sigma = arrays(question.q), float(question.sigma or 0)
    lengths = sigma**power * question.scale**2 * (q_nd**2).sum(1)
    return np.asarray(lengths[:, None, None] * slope_nt[:, :, None] * slope_nt[:, None])


def draw(random: Random) -> dict[str, Any]:
    """Two queries and three keys of length 4; one key moves by a short vector."""
    given = {"q": whole(random, -1, 2, 2, 4), "k": whole(random, -1, 2, 3, 4)}
    given["v"] = whole(random, -1, 3, 3, 2)
    return given | {"index": random.randint(0, 2), "epsilon": whole(random, -1, 1, 4)}


def _noise_proofs(
    question: Question, answer: Answer, before_nt: Tensor, slope_ntd: Tensor
) -> Iterator[Proof]:
    sigma, q_nd, key_d = float(question.sigma or 0), tensor(question.q), tensor(question.k[question.index])
    covariance_ntt = sigma**2 * slope_ntd @ slope_ntd.mT
    yield agree("first order", "the kernel without noise", answer["first_order"], before_nt)
    yield agree("covariance", "its derivative by autograd", answer["covariance"], covariance_ntt)
    # Only noise along a query moves its score.
    way_nd = q_nd / q_nd.norm(dim=1, keepdim=True).clamp_min(1e-300)

    def density(z: float) -> Array:
        outputs_nnt = _attend(question, key_d + sigma * z * way_nd)
        return outputs_nnt.diagonal(dim1=0, dim2=1).T.numpy() * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)

    mean_nt, _ = integrate.quad_vec(density, -12, 12, epsabs=1e-13, epsrel=1e-13)
    yield agree("after", "mean of the kernel by scipy.integrate", answer["output_after"], mean_nt)
    noise = torch.randn(DRAWS, len(key_d), dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    sample_B = _attend(question, key_d + sigma * noise)[:, 0, 0]
    mean, error = float(sample_B.mean()), float(sample_B.std()) / DRAWS**0.5
    if error:
        claimed = answer["output_after"][0][0]
        yield within("mean of the first output", f"{DRAWS} simulated keys", claimed, mean, error)


def _attend(question: Question, key_Bd: Tensor) -> Tensor:
    """Outputs (B, n, t) of this package's kernel with each of B keys in the place of the one that changes."""
    parts = tensors(question.q, question.k, question.v)
    q_B, k_B, v_B = (rows.expand(len(key_Bd), 1, -1, -1) for rows in parts)
    k_B = k_B.index_copy(2, torch.tensor([question.index]), key_Bd[:, None, None])
    return kernels.get("softmax").attend(q_B, k_B, v_B, beta=question.scale)[:, 0]


def _state(question: Question) -> State:
    q, k, v = arrays(question.q, question.k, question.v)
    key, others = question.index, np.arange(len(k)) != question.index
    score_nm = question.scale * q @ k.T
    total_n = np.logaddexp.reduce(score_nm[:, others], axis=1)
    rest_nt = np.exp(score_nm[:, others] - total_n[:, None]) @ v[others]
    return State(score_nm[:, key], score_nm[:, key] - total_n, v[key], rest_nt)


def _logistic(odds: Array) -> Array:
    return 1 / (1 + np.exp(-np.clip(odds, -700, 700)))
