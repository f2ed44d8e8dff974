r"""Dropout on the input of a linear regression is ridge regression: expectation, penalty, minimiser.

$\mathbb{E}_R \lVert y - (X \odot R) w \rVert^2 = \lVert y - pXw \rVert^2 + p(1-p) \lVert \Gamma w \rVert^2$
with $R_{ij} \sim \mathrm{Bern}(p)$ and $\Gamma = \mathrm{diag}(X^T X)^{1/2}$; `keep` is p, the chance to keep
an entry."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from operator import mul
from random import Random
from typing import Annotated, Any

import numpy as np
import sympy
import torch

from vitruvius import lessons
from vitruvius.lessons import Answer, Attempt, Board, Exact, Matrix, Proof, Step, Vector, exact
from vitruvius.lessons._draws import whole
from vitruvius.lessons._exact import worth
from vitruvius.lessons._figures import curves
from vitruvius.lessons._proofs import agree, holds, within
from vitruvius.lessons._tensors import Array, arrays, tensor, tensors

SUBJECT = "training"
TASK = (
    "Dropout on a linear regression: every entry of x is kept with probability <keep>, otherwise set "
    "to 0, without rescaling. Work out the second moment of the masked matrix, the expected squared "
    "error of the weights w as a data term plus a penalty, and the weights that minimise it."
)
ENTRIES = 16
"""So many entries of x make 65,536 masks."""
DRAWS = 20_000


class Question(lessons.Question):
    """A regression with n samples and d features, and the probability of keeping an entry."""

    x: Annotated[Matrix, "N D"] = exact(((1, 2), (2, 1), (0, 1)))
    y: Annotated[Vector, "N"] = exact((1, 2, 1))
    w: Annotated[Vector, "D"] = exact((1, 0.5))
    keep: Exact = exact(0.8)

    def refuse(self) -> None:
        if (entries := self.sizes["N"] * self.sizes["D"]) > ENTRIES:
            raise ValueError(f"x has {entries} entries, 2 to that power masks: needs at most {ENTRIES}")
        if not 0 < self.keep <= 1:
            raise ValueError(f"keep is {self.keep}: needs a probability above 0, up to 1")


def solve(question: Question) -> Iterator[Step | Answer]:
    """All masks, then the two terms they add up to, then the weights that minimise them."""
    x_ND, y_N, w_D = (np.array(rows, dtype=object) for rows in (question.x, question.y, question.w))
    p, gram_DD = question.keep, x_ND.T @ x_ND
    board = Board(p=p, size=x_ND.size, masks=2**x_ND.size, p_gram=p * gram_DD)
    board["expected_loss"] = _enumerated(question)
    yield board.step(
        "List all <masks:,> masks. One that keeps k of <size> entries has probability p^k (1-p)^(<size>-k): "
        "the losses weighted with these probabilities add up to <expected_loss>.",
        r"\mathbb{E}[L] = \sum_R p^{|R|} (1-p)^{<size> - |R|} \lVert y - (X \odot R) w \rVert^2 = "
        r"<expected_loss> \approx <expected_loss:.6g>, \quad p = <p>",
        "expected_loss",
    )
    board["second_moment"] = p * p * gram_DD + p * (1 - p) * np.diag(np.diag(gram_DD))
    board["with_the_mistake"] = (y_N * y_N).sum() - 2 * p * (y_N @ x_ND @ w_D) + p * (w_D @ gram_DD @ w_D)
    yield board.step(
        "Two moments are needed. Entries are kept with probability p; two different entries of a row are "
        "both kept with p^2, but an entry and itself with p, because r^2 = r. So only the diagonal gets the "
        "factor p. The common mistake is p X^T X, or a diagonal matrix, for the second moment: p X^T X would "
        "make the expected loss <with_the_mistake>, where the masks say <expected_loss>.",
        r"\mathbb{E}[X \odot R] = pX, \quad \mathbb{E}\left[(X \odot R)^T (X \odot R)\right] = p^2 X^T X + "
        r"p(1-p) \Gamma^2 = <second_moment>, \quad p X^T X = <p_gram>",
        "second_moment with_the_mistake",
    )
    yield from _ridge_steps(board, x_ND, y_N, w_D)
    yield Answer(fields=board.pick("expected_loss data_term penalty minimiser"))


def _ridge_steps(board: Board, x_ND: Array, y_N: Array, w_D: Array) -> Iterator[Step]:
    p, chances = board["p"], np.linspace(0, 1, 41)
    data, penalty = zip(*(_terms(chance, *arrays(x_ND, y_N, w_D)) for chance in chances), strict=True)
    both = {"data term": data, "penalty": penalty, "expected loss": np.add(data, penalty)}
    board["data_term"], board["penalty"] = _terms(p, x_ND, y_N, w_D)
    board |= {"sum": board["data_term"] + board["penalty"], "ridge": (1 - p) / p}
    yield board.step(
        "Put the moments in and complete the square: the loss of the mean input, <data_term>, plus a penalty "
        "on each weight in proportion to its column's squared length, <penalty>. The sum is <sum>.",
        r"\mathbb{E}[L] = y^T y - 2p\, y^T X w + w^T (p^2 X^T X + p(1-p) \Gamma^2) w = \lVert y - pXw "
        r"\rVert^2 + p(1-p) \lVert \Gamma w \rVert^2 = <data_term> + <penalty>",
        "data_term penalty",
        curves("Both terms for the given w", both, chances, ("probability of keeping", "loss")),
    )
    # the shortest solution, where a column of zeros leaves a weight free
    solution = sympy.Matrix(board["second_moment"]).pinv() * sympy.Matrix(p * (x_ND.T @ y_N))
    board["minimiser"] = list(map(worth, solution))
    yield board.step(
        "The expectation is a parabola in w, so its minimum is where the gradient vanishes: ridge regression "
        "for pw, with <ridge> of each column's squared length as the ridge.",
        r"\left(p^2 X^T X + p(1-p) \Gamma^2\right) w = p X^T y \quad \Rightarrow \quad w^* = "
        r"<minimiser:column>",
    )


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """Norms in floating point, a stacked least-squares problem, and dropout itself, drawn many times."""
    x_ND, y_N, w_D = arrays(question.x, question.y, question.w)
    p, gamma_DD = float(question.keep), np.diag(np.linalg.norm(x_ND, axis=0))
    data_term = np.linalg.norm(y_N - p * x_ND @ w_D) ** 2
    penalty = p * (1 - p) * np.linalg.norm(gamma_DD @ w_D) ** 2
    found = {"data_term": data_term, "penalty": penalty, "expected_loss": data_term + penalty}
    yield agree("expectation = data term + penalty", "norms", answer, found)
    stacked = np.vstack([p * x_ND, np.sqrt(p * (1 - p)) * gamma_DD])
    least = np.linalg.lstsq(stacked, np.concatenate([y_N, np.zeros(len(w_D))]), rcond=None)[0]
    yield agree("minimiser", "least squares on stacked rows", answer["minimiser"], least, 1e-7)
    gradient, size = _mean_gradient(question, answer["minimiser"])
    detail = f"the mean gradient over all masks is {gradient:.1e}, its terms are up to {size:.1e}"
    yield holds("no descent from the minimiser", "autograd", gradient <= 1e-9 * size + 1e-12, detail)
    kept = np.random.default_rng(0).random((DRAWS, *x_ND.shape)) < p
    losses = ((y_N - (x_ND * kept) @ w_D) ** 2).sum(axis=1)
    if p < 1 and losses.std() > 0:
        claimed, error = float(answer["expected_loss"]), losses.std() / np.sqrt(DRAWS)
        yield within("expected loss", f"{DRAWS:,} draws", claimed, losses.mean(), error, 5)


def attempt(question: Question, write: Attempt) -> None:
    """The second moment, the two terms, the expected loss, the best weights."""
    (x, y, w), p = arrays(question.x, question.y, question.w), float(question.keep)
    gram = x.T @ x
    lengths = np.diag(np.diag(gram))
    second = write(
        "second_moment",
        p * p * gram + p * (1 - p) * lengths,
        "second moment of the masked matrix",
        "With which probability are two different entries both kept, and with which one entry and itself?",
        r"p^2 X^T X + p (1 - p) \Gamma^2, \quad \Gamma^2 = \mathrm{diag}(X^T X)",
        all_p=("the whole matrix is multiplied by p, as if r^2 = r held for pairs", p * gram),
        diagonal=("only the diagonal is kept", p * lengths),
        all_squared=("the diagonal is multiplied by p^2 like the rest", p * p * gram),
    )
    rest, ridge = ((y - p * x @ w) ** 2).sum(), float(w @ lengths @ w)
    data = write(
        "data_term",
        float(rest),
        "data term: the squared error of the mean input",
        "What is the mean of the masked matrix?",
        r"\lVert y - p X w \rVert^2",
        unscaled=("the input is not multiplied by p", float(((y - x @ w) ** 2).sum())),
    )
    penalty = write(
        "penalty",
        p * (1 - p) * ridge,
        "penalty on the weights",
        "What is the variance of a mask, and by which lengths are the weights weighed?",
        r"p (1 - p) \lVert \Gamma w \rVert^2",
        only_dropped=("the factor p is forgotten", (1 - p) * ridge),
        plain_ridge=("the lengths of the columns are forgotten", p * (1 - p) * float(w @ w)),
    )
    write(
        "expected_loss",
        data + penalty,
        "expected squared error",
        "What do the two terms make together?",
        r"\mathbb{E}[L] = \lVert y - p X w \rVert^2 + p (1 - p) \lVert \Gamma w \rVert^2",
        no_penalty=("the penalty is left out", data),
    )
    write(
        "minimiser",
        np.linalg.pinv(second) @ (p * x.T @ y),
        "the best weights",
        "Where does the gradient of the expected loss vanish?",
        r"\left( p^2 X^T X + p (1 - p) \Gamma^2 \right) w = p X^T y",
        least_squares=("the penalty is forgotten", np.linalg.pinv(gram) @ x.T @ y),
        no_p=("the factor p on the right side is forgotten", np.linalg.pinv(second) @ x.T @ y),
    )


def draw(random: Random) -> dict[str, Any]:
    """Three samples of two features."""
    given = {"x": whole(random, -1, 3, 3, 2), "y": whole(random, -2, 3, 3), "w": whole(random, -2, 2, 2)}
    return given | {"keep": random.choice(("1/2", "3/4", "4/5", "3/5", "9/10"))}


def _terms(p: Fraction, x_ND: Array, y_N: Array, w_D: Array) -> tuple[Fraction, Fraction]:
    """The loss of the mean input and the penalty."""
    return ((y_N - p * x_ND @ w_D) ** 2).sum(), p * (1 - p) * ((x_ND**2).sum(axis=0) * w_D**2).sum()


def _enumerated(question: Question) -> Fraction:
    """The mean loss over all masks: the losses of a row under its own masks, combined in every way."""
    rows = [_row_losses(row, question.w, target) for row, target in zip(question.x, question.y, strict=True)]
    p, size = question.keep, len(question.x) * len(question.w)
    by_count = [Fraction(0)] * (size + 1)  # losses of the masks that keep so many entries, added up
    for mask in product(*rows):
        by_count[sum(count for count, _ in mask)] += sum(loss for _, loss in mask)
    chances = [p**kept * (1 - p) ** (size - kept) for kept in range(size + 1)]
    return sum(map(mul, chances, by_count), Fraction(0))


def _row_losses(row: Vector, w: Vector, target: Fraction) -> list[tuple[int, Fraction]]:
    """How many entries each mask of one row keeps, and the row's squared error under it."""
    terms = [x * weight for x, weight in zip(row, w, strict=True)]
    masks = product((0, 1), repeat=len(row))
    return [(sum(mask), (target - sum(map(mul, mask, terms))) ** 2) for mask in masks]


def _mean_gradient(question: Question, weights: list[Fraction]) -> tuple[float, float]:
    """The largest entry of the mean loss's gradient over all masks, and the scale of what cancels in it."""
    x_ND, y_N, w_D = tensors(question.x, question.y, weights)
    p, pick = float(question.keep), tensor([0, 1])
    kept_RND = torch.cartesian_prod(*[pick] * x_ND.numel()).view(-1, *x_ND.shape)
    chance_R = (kept_RND * p + (1 - kept_RND) * (1 - p)).flatten(1).prod(1)
    loss = (chance_R * (y_N - (x_ND * kept_RND) @ w_D.requires_grad_()).square().sum(-1)).sum()
    (gradient,) = torch.autograd.grad(loss, w_D)
    return gradient.abs().max().item(), float((x_ND.T @ y_N).abs().max())
