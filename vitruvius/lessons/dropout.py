r"""Dropout on the input of a linear regression is ridge regression: expectation, penalty and minimiser, exactly.

$\mathbb{E}_R \lVert y - (X \odot R) w \rVert^2 = \lVert y - pXw \rVert^2 + p(1-p) \lVert \Gamma w \rVert^2$ with
$R_{ij} \sim \mathrm{Bern}(p)$ and $\Gamma = \mathrm{diag}(X^T X)^{1/2}$; `keep` is p, the chance to keep an entry.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from operator import mul
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from pydantic import model_validator

from vitruvius import lessons
from vitruvius.core.blocks import Lines
from vitruvius.lessons import Answer, Exact, Matrix, Proof, Step, Vector, _board, _shapes, exact
from vitruvius.lessons._figures import curves
from vitruvius.lessons._proofs import agree, holds, within

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

SUBJECT = "training"
ENTRIES = 16
"""So many entries of x make 65,536 masks."""
DRAWS = 20_000


class Question(lessons.Question):
    """A regression with n samples and d features, and the probability of keeping an entry."""

    x: Matrix = exact(((1, 2), (2, 1), (0, 1)))
    y: Vector = exact((1, 2, 1))
    w: Vector = exact((1, 0.5))
    keep: Exact = exact(0.8)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        samples, features = _shapes.matrix("x", self.x)
        _shapes.vector("w", self.w, features, "column of x")
        _shapes.vector("y", self.y, samples, "row of x")
        if samples * features > ENTRIES:
            raise ValueError(f"x has {samples * features} entries, 2 to that power masks: needs at most {ENTRIES}")
        if not 0 < self.keep <= 1:
            raise ValueError(f"keep is {self.keep}: needs a probability above 0, up to 1")
        return self


def solve(question: Question) -> Iterator[Step | Answer]:
    """All masks, then the two terms they add up to, then the weights that minimise them."""
    x_ND, y_N, w_D = (np.array(getattr(question, field), dtype=object) for field in ("x", "y", "w"))
    p, size, expected = question.keep, x_ND.size, _enumerated(question)
    yield Step(
        says=f"List all {2**size:,} masks. One that keeps k of {size} entries has probability p^k (1-p)^({size}-k): "
        f"the losses weighted with these probabilities add up to {expected}.",
        formula=rf"\mathbb{{E}}[L] = \sum_R p^{{|R|}} (1-p)^{{{size} - |R|}} \lVert y - (X \odot R) w \rVert^2 = "
        rf"{_board.number(expected)} \approx {float(expected):.6g}, \quad p = {_board.number(p)}",
        value=expected,
    )
    yield _moments_step(p, x_ND.T @ x_ND, expected, question)
    data_term = ((y_N - p * (x_ND @ w_D)) ** 2).sum()
    penalty = p * (1 - p) * ((x_ND**2).sum(axis=0) * w_D**2).sum()
    yield Step(
        says=f"Put the moments in and complete the square: the loss of the mean input, {data_term}, plus a penalty on "
        f"each weight in proportion to its column's squared length, {penalty}. The sum is {data_term + penalty}.",
        formula=r"\mathbb{E}[L] = y^T y - 2p\, y^T X w + w^T (p^2 X^T X + p(1-p) \Gamma^2) w = \lVert y - pXw \rVert^2 "
        rf"+ p(1-p) \lVert \Gamma w \rVert^2 = {_board.number(data_term)} + {_board.number(penalty)}",
        value={"data_term": data_term, "penalty": penalty},
        figure=_over_keep(question),
    )
    minimiser = _minimiser(p, x_ND, y_N)
    yield Step(
        says="The expectation is a parabola in w, so its minimum is where the gradient vanishes: ridge regression for "
        f"pw, with {(1 - p) / p} of each column's squared length as the ridge.",
        formula=r"\left(p^2 X^T X + p(1-p) \Gamma^2\right) w = p X^T y \quad \Rightarrow \quad "
        rf"w^* = {_board.column(minimiser)}",
        value=minimiser,
    )
    answer = {"expected_loss": expected, "data_term": data_term, "penalty": penalty, "minimiser": minimiser}
    yield Answer(fields=answer)


def _moments_step(p: Fraction, gram_DD: "Array", expected: Fraction, question: Question) -> Step:
    second_DD = p * p * gram_DD + p * (1 - p) * np.diag(np.diag(gram_DD))
    y, w, x = (np.array(part, dtype=object) for part in (question.y, question.w, question.x))
    wrong = (y * y).sum() - 2 * p * (y @ x @ w) + p * (w @ gram_DD @ w)
    return Step(
        says="Two moments are needed. Entries are kept with probability p; two different entries of a row are both "
        "kept with p^2, but an entry and itself with p, because r^2 = r. So only the diagonal gets the factor p. The "
        "common mistake is p X^T X, or a diagonal matrix, for the second moment: p X^T X would make the expected loss "
        f"{wrong}, where the masks say {expected}.",
        formula=r"\mathbb{E}[X \odot R] = pX, \quad \mathbb{E}\left[(X \odot R)^T (X \odot R)\right] = p^2 X^T X + "
        rf"p(1-p) \Gamma^2 = {_board.matrix(second_DD.tolist())}, \quad "
        rf"p X^T X = {_board.matrix((p * gram_DD).tolist())}",
        value={"second_moment": second_DD, "with_the_mistake": wrong},
    )


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """Norms in floating point, a stacked least-squares problem, and dropout itself, drawn many times."""
    x_ND, y_N, w_D = (np.array(getattr(question, field), dtype=float) for field in ("x", "y", "w"))
    p = float(question.keep)
    gamma_DD = np.diag(np.linalg.norm(x_ND, axis=0))
    stacked = np.vstack([p * x_ND, np.sqrt(p * (1 - p)) * gamma_DD])
    target = np.concatenate([y_N, np.zeros(len(w_D))])
    data_term = np.linalg.norm(y_N - p * x_ND @ w_D) ** 2
    penalty = p * (1 - p) * np.linalg.norm(gamma_DD @ w_D) ** 2
    found = {"data_term": data_term, "penalty": penalty, "expected_loss": data_term + penalty}
    yield agree("expectation = data term + penalty", "norms", {name: answer[name] for name in found}, found)
    least = np.linalg.lstsq(stacked, target, rcond=None)[0]
    yield agree("minimiser", "least squares on stacked rows", answer["minimiser"], least, 1e-7)
    gradient, size = _mean_gradient(question, answer["minimiser"])
    detail = f"the mean gradient over all masks is {gradient:.1e}, its terms are up to {size:.1e}"
    yield holds("no descent from the minimiser", "autograd", gradient <= 1e-9 * size + 1e-12, detail)
    losses = _drawn_losses(x_ND, y_N, w_D, p)
    if p < 1 and losses.std() > 0:
        error = losses.std() / np.sqrt(DRAWS)
        yield within("expected loss", f"{DRAWS:,} draws", float(answer["expected_loss"]), losses.mean(), error, 5)


def _enumerated(question: Question) -> Fraction:
    """The mean loss over all masks: the losses of a row under its own masks, combined in every way."""
    rows = [_row_losses(row, question.w, target) for row, target in zip(question.x, question.y, strict=True)]
    size = len(question.x) * len(question.w)
    by_count = [Fraction(0)] * (size + 1)  # losses of the masks that keep so many entries, added up
    for mask in product(*rows):
        by_count[sum(count for count, _ in mask)] += sum(loss for _, loss in mask)
    p = question.keep
    return sum((p**kept * (1 - p) ** (size - kept) * total for kept, total in enumerate(by_count)), Fraction(0))


def _row_losses(row: Vector, w: Vector, target: Fraction) -> list[tuple[int, Fraction]]:
    """How many entries each mask of one row keeps, and the row's squared error under it."""
    terms = [x * weight for x, weight in zip(row, w, strict=True)]
    return [(sum(mask), (target - sum(map(mul, mask, terms))) ** 2) for mask in product((0, 1), repeat=len(row))]


def _minimiser(p: Fraction, x_ND: "Array", y_N: "Array") -> list[Fraction]:
    """The solution of the normal equations; the shortest one where a column of zeros leaves a weight free."""
    import sympy

    gram_DD = x_ND.T @ x_ND
    left = sympy.Matrix((p * p * gram_DD + p * (1 - p) * np.diag(np.diag(gram_DD))).tolist())
    solution = left.pinv() * sympy.Matrix((p * (x_ND.T @ y_N)).tolist())
    return [Fraction(int(entry.p), int(entry.q)) for entry in solution]


def _mean_gradient(question: Question, weights: list[Fraction]) -> tuple[float, float]:
    """The largest entry of the gradient of the mean loss over all masks, and the scale of what cancels in it."""
    import torch

    x_ND = torch.tensor([[float(x) for x in row] for row in question.x], dtype=torch.float64)
    y_N = torch.tensor([float(y) for y in question.y], dtype=torch.float64)
    w_D = torch.tensor([float(w) for w in weights], dtype=torch.float64, requires_grad=True)
    masks = torch.cartesian_prod(*[torch.tensor([0.0, 1.0], dtype=torch.float64)] * x_ND.numel())
    kept_RND = masks.view(-1, *x_ND.shape)
    p = float(question.keep)
    chance_R = (kept_RND * p + (1 - kept_RND) * (1 - p)).flatten(1).prod(1)
    loss = (chance_R * (y_N - (x_ND * kept_RND) @ w_D).square().sum(-1)).sum()
    (gradient,) = torch.autograd.grad(loss, w_D)
    return gradient.abs().max().item(), float((x_ND.T @ y_N).abs().max())


def _drawn_losses(x_ND: "Array", y_N: "Array", w_D: "Array", p: float) -> "Array":
    kept = np.random.default_rng(0).random((DRAWS, *x_ND.shape)) < p
    return ((y_N - (x_ND * kept) @ w_D) ** 2).sum(axis=1)


def _over_keep(question: Question) -> Lines:
    """Both terms at the given weights, for every probability of keeping."""
    x_ND, y_N, w_D = (np.array(getattr(question, field), dtype=float) for field in ("x", "y", "w"))
    chances = np.linspace(0, 1, 41)
    data = [float(((y_N - p * x_ND @ w_D) ** 2).sum()) for p in chances]
    penalty = [float(p * (1 - p) * ((x_ND**2).sum(axis=0) * w_D**2).sum()) for p in chances]
    terms = {
        "data term": data,
        "penalty": penalty,
        "expected loss": [a + b for a, b in zip(data, penalty, strict=True)],
    }
    return curves("Both terms for the given w", terms, chances, ("probability of keeping", "loss"))
