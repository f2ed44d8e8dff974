r"""Gradient descent on least squares finds the shortest solution: proof by the Lagrangian, exact iterates, the limit.

$\min \lVert w \rVert^2$ subject to $Xw = y$ has the solution $w^* = X^+ y$ with multipliers $\lambda^*$ from
$2w + X^T\lambda = 0$. Descent on $\lVert y - Xw \rVert^2$ from $w_0$ converges to $w^* + (I - X^+X) w_0$: to $w^*$ if
$w_0 = 0$.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from pydantic import Field, model_validator

from vitruvius import lessons
from vitruvius.lessons import Answer, Exact, Matrix, Proof, Step, Vector, _board, _shapes, exact
from vitruvius.lessons._figures import curves
from vitruvius.lessons._proofs import agree, holds
from vitruvius.lessons._shapes import counted

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

SUBJECT = "training"
LARGEST = 12
RUN = 200
"""Steps of the long run, in floating point."""


class Question(lessons.Question):
    """A system with a solution, where descent starts, its step size, and how many exact iterates are shown."""

    x: Matrix = exact(((1, 0, 1), (0, 1, 1)))
    y: Vector = exact((1, 5))
    start: Vector | None = None
    """Zero by default."""
    step: Exact = exact("1/4")
    iterations: Annotated[int, Field(ge=1, le=20)] = 5

    @model_validator(mode="after")
    def _has_a_solution(self) -> Self:
        rows, columns = _shapes.matrix("x", self.x, (LARGEST, LARGEST))
        _shapes.vector("y", self.y, rows, "row of x")
        if self.start is not None:
            _shapes.vector("start", self.start, columns, "column of x")
        x_ND, y_N = np.array(self.x, dtype=object), np.array(self.y, dtype=object)
        if not x_ND.any():
            raise ValueError("x has only zeros: needs at least one other entry")
        if (x_ND @ (_pseudoinverse(x_ND) @ y_N) != y_N).any():
            raise ValueError("y is not in the span of x's columns: X w = y has no solution, needs one")
        longest = float(np.linalg.norm(x_ND.astype(float), 2)) ** 2
        if not 0 < float(self.step) * longest < 1:
            raise ValueError(
                f"step is {self.step}: descent needs a step between 0 and {1 / longest:.6g} "
                "(1 over the largest eigenvalue of X^T X)"
            )
        return self


def solve(question: Question) -> Iterator[Step | Answer]:
    """The constrained problem, descent on the unconstrained one, and why both end in the same place."""
    x_ND, y_N, start_D = _arrays(question, object)
    inverse_DN = _pseudoinverse(x_ND)
    solution_D = inverse_DN @ y_N
    multipliers_N = -2 * (inverse_DN.T @ solution_D)
    yield _lagrange_step(x_ND, solution_D, multipliers_N)
    yield _repeated_step(x_ND, y_N)
    iterates = [start_D]
    for _ in range(question.iterations):
        iterates.append(iterates[-1] - question.step * 2 * (x_ND.T @ (x_ND @ iterates[-1] - y_N)))
    shown = r", \quad ".join(rf"w^{{({t})}} = {_board.column(w)}" for t, w in enumerate(map(list, iterates)))
    yield Step(
        says=f"Descend with step {question.step}. The gradient is a combination of the rows of X, so all "
        f"{len(iterates)} iterates differ from the start by such combinations and by nothing else.",
        formula=rf"\nabla f(w) = 2 X^T (Xw - y) : \quad {shown}",
        value=iterates,
    )
    limit_D = solution_D + start_D - inverse_DN @ (x_ND @ start_D)
    yield _limit_step(question, limit_D)
    yield _start_step(x_ND, inverse_DN, solution_D, limit_D)
    found = {"solution": solution_D, "multipliers": multipliers_N, "iterates": np.array(iterates), "limit": limit_D}
    yield Answer(fields={name: array.tolist() for name, array in found.items()})


def _lagrange_step(x_ND: "Array", solution_D: "Array", multipliers_N: "Array") -> Step:
    gram_NN = x_ND @ x_ND.T
    rank = int(np.linalg.matrix_rank(x_ND.astype(float)))
    unique = (
        "exactly one pair" if rank == len(x_ND) else "one w and several multipliers, of which the shortest is shown"
    )
    return Step(
        says="Among all solutions of Xw = y find the shortest. Both derivatives of the Lagrangian vanish: the first "
        "makes w a combination of the rows of X, the second then fixes the multipliers. X X^T has rank "
        f"{rank} of {len(x_ND)}: {unique}.",
        formula=r"2w + X^T \lambda = 0, \; Xw = y \quad \Rightarrow \quad X X^T \lambda = -2y : \quad "
        rf"{_board.matrix(gram_NN.tolist())} \lambda = -2y, \quad \lambda^* = {_board.column(multipliers_N.tolist())}, "
        rf"\quad w^* = -\frac{{1}}{{2}} X^T \lambda^* = {_board.column(solution_D.tolist())}",
        value={"solution": solution_D, "multipliers": multipliers_N},
    )


def _repeated_step(x_ND: "Array", y_N: "Array") -> Step:
    """The rank-deficient case: a row that says nothing new."""
    twice_ND, both_N = np.vstack([x_ND, x_ND[:1]]), np.append(y_N, y_N[:1])
    inverse_DN = _pseudoinverse(twice_ND)
    solution_D = inverse_DN @ both_N
    multipliers_N = -2 * (inverse_DN.T @ solution_D)
    return Step(
        says="If rows are dependent, X X^T has no inverse and the multipliers are not unique; but two of them differ "
        "by a vector that X^T sends to 0, so w is the same. Write the first equation down twice, for instance: the "
        f"{len(both_N)} shortest multipliers share its force, and w stays.",
        formula=rf"\lambda^* = {_board.column(multipliers_N.tolist())}, \quad "
        rf"w^* = {_board.column(solution_D.tolist())}",
        value={"solution": solution_D, "multipliers": multipliers_N},
    )


def _limit_step(question: Question, limit_D: "Array") -> Step:
    distances, rate = _run(question, limit_D.astype(float)), _rate(question)
    kept = [(float(t), distance) for t, distance in enumerate(distances[:60]) if distance > 1e-14]
    named = {"descent": [distance for _, distance in kept]}
    figure = curves("Distance to the limit", named, [t for t, _ in kept], ("step", "distance"), log="y")
    return Step(
        says="The distance to the limit is multiplied by I - 2 (step) X^T X each time. In the span of the rows this "
        f"shrinks every direction, by the factor {rate:.6g} or better, as long as the step is below 1 over the largest "
        "eigenvalue of X^T X; so descent converges, and it converges to a solution.",
        formula=rf"w^{{(t)}} - w_{{\infty}} = (I - 2 \eta X^T X)^t \, (w^{{(0)}} - w_{{\infty}}), \quad "
        rf"w_{{\infty}} = w^* + (I - X^+ X) w^{{(0)}} = {_board.column(limit_D.tolist())}",
        value={"rate": rate, "limit": limit_D},
        figure=figure if kept else None,
    )


def _start_step(x_ND: "Array", inverse_DN: "Array", solution_D: "Array", limit_D: "Array") -> Step:
    ones_D = np.array([Fraction(1)] * len(solution_D), dtype=object)
    away_D = solution_D + ones_D - inverse_DN @ (x_ND @ ones_D)
    norms = [(vector @ vector) for vector in (limit_D, solution_D, away_D)]
    return Step(
        says="The limit solves Xw = y. Begun at 0 it is also a combination of the rows, and these two facts are the "
        "two conditions of the shortest solution: the same point, without any penalty in the loss. What X "
        "sends to 0 in another start is never forgotten, because no gradient points there: begun at all ones, descent "
        f"ends at a solution of squared length {norms[2]}, not {norms[1]} as the shortest has.",
        formula=rf"\lVert w_{{\infty}} \rVert^2 = {_board.number(norms[0])}, \quad \lVert w^* \rVert^2 = "
        rf"{_board.number(norms[1])}, \quad w^{{(0)}} = \mathbf{{1}} : \quad w_{{\infty}} = "
        rf"{_board.column(away_D.tolist())}",
        value={"from_ones": away_D},
    )


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """Least squares by singular values, the conditions as one linear system, descent by autograd, orthogonality."""
    x_ND, y_N, start_D = _arrays(question, float)
    rows, columns = x_ND.shape
    shortest = np.linalg.lstsq(x_ND, y_N, rcond=None)[0]
    yield agree("solution", "least squares by singular values", answer["solution"], shortest, 1e-8)
    kkt = np.block([[2 * np.eye(columns), x_ND.T], [x_ND, np.zeros((rows, rows))]])
    both = np.linalg.lstsq(kkt, np.concatenate([np.zeros(columns), y_N]), rcond=None)[0]
    yield agree("solution", "both conditions as one system", answer["solution"], both[:columns], 1e-8)
    yield agree("multipliers", "both conditions as one system", answer["multipliers"], both[columns:], 1e-8)
    yield agree("iterates", "autograd", answer["iterates"], _by_autograd(question))
    limit = start_D + np.linalg.lstsq(x_ND, y_N - x_ND @ start_D, rcond=None)[0]
    yield agree("limit", "shortest way from the start to a solution", answer["limit"], limit, 1e-8)
    distances, rate = _run(question, limit), _rate(question)
    slack = 1e-9 * (1 + float(np.linalg.norm(limit)))
    bound = rate**RUN * distances[0] + slack
    detail = f"{distances[-1]:.1e} from the limit after {RUN} steps, the bound is {bound:.1e}"
    yield holds("descent reaches the limit", "run in floating point", distances[-1] <= bound, detail)
    unseen = np.linalg.svd(x_ND)[2][np.linalg.matrix_rank(x_ND) :]  # directions that X sends to 0
    overlap = float(np.abs(unseen @ np.array(answer["solution"], dtype=float)).max(initial=0))
    detail = f"largest product with {counted(len(unseen), 'direction')} that X sends to 0: {overlap:.1e}"
    yield holds("no solution is shorter", "orthogonality", overlap <= slack, detail)


def _arrays(question: Question, kind: type) -> "tuple[Array, Array, Array]":
    start = question.start if question.start is not None else (Fraction(0),) * len(question.x[0])
    return np.array(question.x, dtype=kind), np.array(question.y, dtype=kind), np.array(start, dtype=kind)


def _pseudoinverse(x_ND: "Array") -> "Array":
    """The exact Moore-Penrose inverse, for any rank."""
    import sympy

    inverse = sympy.Matrix(x_ND.tolist()).pinv()
    entries = [[Fraction(int(entry.p), int(entry.q)) for entry in row] for row in inverse.tolist()]
    return np.array(entries, dtype=object)


def _run(question: Question, limit_D: "Array") -> list[float]:
    """The distance to the limit before each of many steps, and after the last."""
    x_ND, y_N, w_D = _arrays(question, float)
    distances = [float(np.linalg.norm(w_D - limit_D))]
    for _ in range(RUN):
        w_D = w_D - float(question.step) * 2 * x_ND.T @ (x_ND @ w_D - y_N)
        distances.append(float(np.linalg.norm(w_D - limit_D)))
    return distances


def _rate(question: Question) -> float:
    """The factor by which every step shrinks the slowest direction that X sees."""
    x_ND = np.array(question.x, dtype=float)
    seen = np.linalg.svd(x_ND, compute_uv=False)[: np.linalg.matrix_rank(x_ND)]
    return float(np.abs(1 - 2 * float(question.step) * seen**2).max())


def _by_autograd(question: Question) -> list[list[float]]:
    import torch

    x_ND, y_N, w_D = (torch.from_numpy(array) for array in _arrays(question, float))
    iterates = [w_D.tolist()]
    for _ in range(question.iterations):
        w_D = w_D.detach().requires_grad_()
        (gradient,) = torch.autograd.grad((y_N - x_ND @ w_D).square().sum(), w_D)
        w_D = w_D.detach() - float(question.step) * gradient
        iterates.append(w_D.tolist())
    return iterates
