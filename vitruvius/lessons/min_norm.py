r"""Gradient descent on least squares finds the shortest solution: the Lagrangian, exact iterates, the limit.

$\min \lVert w \rVert^2$ subject to $Xw = y$ has the solution $w^* = X^+ y$ with multipliers $\lambda^*$ from
$2w + X^T\lambda = 0$. Descent on $\lVert y - Xw \rVert^2$ from $w_0$ converges to $w^* + (I - X^+X) w_0$: to
$w^*$ if $w_0 = 0$."""

from collections.abc import Iterator
from fractions import Fraction
from random import Random
from typing import Annotated, Any

import numpy as np
import sympy
import torch
from pydantic import Field

from vitruvius import lessons
from vitruvius.core.blocks import Lines, Series
from vitruvius.core.counted import counted
from vitruvius.lessons import Answer, Attempt, Board, Exact, Matrix, Proof, Step, Vector, exact
from vitruvius.lessons._board import column
from vitruvius.lessons._draws import whole
from vitruvius.lessons._exact import worth
from vitruvius.lessons._figures import curves
from vitruvius.lessons._proofs import agree, holds
from vitruvius.lessons._tensors import Array

SUBJECT = "training"
TASK = (
    "The shortest solution of X w = y, and gradient descent from 0 on the squared error with step "
    "<step>. Work out the multipliers (X X^T lambda = -2 y), the shortest solution, and the "
    "iterates: the start and what the first <iterations> steps give."
)
RUN = 200
"""Steps of the long run, in floating point."""
DRAWN = 30
"""Steps of a descent that is drawn."""


class Question(lessons.Question):
    """A system with a solution, where descent starts, its step size, and the number of exact iterates."""

    limits = {"N": (1, 12), "D": (1, 12)}
    x: Annotated[Matrix, "N D"] = exact(((1, 0, 1), (0, 1, 1)))
    y: Annotated[Vector, "N"] = exact((1, 5))
    start: Annotated[Vector | None, "D"] = None
    """Zero by default."""
    step: Exact = exact("1/4")
    iterations: Annotated[int, Field(ge=1, le=20)] = 5

    def refuse(self) -> None:
        x_ND, y_N, _ = self.arrays(object)
        if not x_ND.any():
            raise ValueError("x has only zeros: needs at least one other entry")
        if (x_ND @ _shortest(x_ND, y_N)[1] != y_N).any():
            raise ValueError("y is not in the span of x's columns: X w = y has no solution, needs one")
        longest = float(np.linalg.norm(x_ND.astype(float), 2)) ** 2
        if not 0 < float(self.step) * longest < 1:
            bound = f"{1 / longest:.6g} (1 over the largest eigenvalue of X^T X)"
            raise ValueError(f"step is {self.step}: descent needs a step between 0 and {bound}")

    def arrays(self, kind: type) -> tuple[Array, Array, Array]:
        """X, y and the start; exact for the kind `object`."""
        start = self.start or (Fraction(0),) * self.sizes["D"]
        return np.array(self.x, kind), np.array(self.y, kind), np.array(start, kind)


def solve(question: Question) -> Iterator[Step | Answer]:
    """The constrained problem, descent on the unconstrained one, and why both end in the same place."""
    x_ND, y_N, start_D = question.arrays(object)
    inverse_DN, solution_D, multipliers_N = _shortest(x_ND, y_N)
    rank, n = int(np.linalg.matrix_rank(x_ND.astype(float))), len(x_ND)
    board = Board(rank=rank, n=n, gram=x_ND @ x_ND.T, solution=solution_D, multipliers=multipliers_N)
    several = "one w and several multipliers, of which the shortest is shown"
    yield board.step(
        "Among all solutions of Xw = y find the shortest. Both derivatives of the Lagrangian vanish: the "
        "first makes w a combination of the rows of X, the second then fixes the multipliers. X X^T has rank "
        f"<rank> of <n>: {'exactly one pair' if rank == n else several}.",
        r"2w + X^T \lambda = 0, \; Xw = y \quad \Rightarrow \quad X X^T \lambda = -2y : \quad <gram> \lambda "
        r"= -2y, \quad \lambda^* = <multipliers:column>, \quad w^* = -\frac{1}{2} X^T \lambda^* = "
        r"<solution:column>",
        "solution multipliers",
    )
    _, again_D, shared_N = _shortest(np.vstack([x_ND, x_ND[:1]]), np.append(y_N, y_N[:1]))
    yield Board(solution=again_D, multipliers=shared_N, count=n + 1).step(
        "If rows are dependent, X X^T has no inverse and the multipliers are not unique; but two of them "
        "differ by a vector that X^T sends to 0, so w is the same. Write the first equation down twice, for "
        "instance: the <count> shortest multipliers share its force, and w stays.",
        r"\lambda^* = <multipliers:column>, \quad w^* = <solution:column>",
        "solution multipliers",
    )
    iterates = _iterates(x_ND, y_N, start_D, 2 * question.step, question.iterations)
    board |= {"iterates": iterates, "limit": solution_D + start_D - inverse_DN @ (x_ND @ start_D)}
    yield from _descent(question, board, inverse_DN)
    yield Answer(fields=board.pick("solution multipliers iterates limit"))


def _descent(question: Question, board: Board, inverse_DN: Array) -> Iterator[Step]:
    solution_D, limit_D, iterates = (board[name] for name in ("solution", "limit", "iterates"))
    shown = r", \quad ".join(rf"w^{{({t})}} = {column(w_D)}" for t, w_D in enumerate(iterates))
    board |= {"step": question.step, "count": len(iterates), "shown": shown}
    x_ND, y_N, start_D = question.arrays(object)
    board["gradient"] = 2 * (x_ND.T @ (x_ND @ start_D - y_N))
    yield board.step(
        "Descend with step <step>. The gradient is a combination of the rows of X, so all <count> iterates "
        "differ from the start by such combinations and by nothing else.",
        r"\nabla f(w) = 2 X^T (Xw - y) : \quad w^{(1)} = <iterates[0]:column> - <step> \cdot "
        r"<gradient:column>, \quad <shown>",
        "iterates",
    )
    distances, board["rate"] = _run(question, limit_D.astype(float))
    kept = {t: distance for t, distance in enumerate(distances[:60]) if distance > 1e-14}
    axes, named = ("step", "distance"), {"descent": kept.values()}
    yield board.step(
        "The distance to the limit is multiplied by I - 2 (step) X^T X each time. In the span of the rows "
        "this shrinks every direction, by the factor <rate:.6g> or better, as long as the step is below 1 "
        "over the largest eigenvalue of X^T X; so descent converges, and it converges to a solution.",
        r"w^{(t)} - w_{\infty} = (I - 2 \eta X^T X)^t \, (w^{(0)} - w_{\infty}), \quad w_{\infty} = w^* + (I "
        r"- X^+ X) w^{(0)} = <limit:column>",
        "rate limit",
        curves("Distance to the limit", named, kept, axes, log="y") if kept else None,
    )
    ones_D = np.full(len(solution_D), Fraction(1))
    board["from_ones"] = away_D = solution_D + ones_D - inverse_DN @ (np.array(question.x, object) @ ones_D)
    board |= {"squares": [w_D @ w_D for w_D in (limit_D, solution_D, away_D)]}
    yield board.step(
        "The limit solves Xw = y. Begun at 0 it is also a combination of the rows, and these two facts are "
        "the two conditions of the shortest solution: the same point, without any penalty in the loss. What "
        "X sends to 0 in another start is never forgotten, because no gradient points there: begun at all "
        "ones, descent ends at a solution of squared length <squares[2]>, not <squares[1]> as the shortest "
        "has.",
        r"\lVert w_{\infty} \rVert^2 = <squares[0]>, \quad \lVert w^* \rVert^2 = <squares[1]>, \quad w^{(0)} "
        r"= \mathbf{1} : \quad w_{\infty} = <from_ones:column>",
        board.pick("from_ones"),
        _geometry(question),
    )


def _geometry(question: Question) -> Lines | None:
    """The solutions, and descent from 0 and from all ones, in the plane of w* and one direction that X
    sends to 0; none if X sends nothing but 0 there."""
    x_ND, y_N, _ = question.arrays(float)
    solution_D = np.linalg.pinv(x_ND) @ y_N
    ones_D, length = np.ones(x_ND.shape[1]), float(np.linalg.norm(solution_D))
    free_DD = np.eye(len(ones_D)) - np.linalg.pinv(x_ND) @ x_ND
    along_D = free_DD @ ones_D  # where the two starts differ; if they do not, any free direction
    if np.linalg.norm(along_D) < 1e-9:
        along_D = free_DD[np.linalg.norm(free_DD, axis=1).argmax()]
    if np.linalg.norm(along_D) < 1e-9 or length < 1e-9:
        return None
    plane = np.stack([solution_D / length, along_D / np.linalg.norm(along_D)])
    paths = {"descent from 0": np.zeros_like(ones_D), "descent from all ones": ones_D}
    series = [_path(name, plane, x_ND, y_N, start, float(question.step)) for name, start in paths.items()]
    reach = 1.2 * max(1.0, *(abs(place) for one in series for place in one.y))
    series.append(Series(name="all solutions", x=(length, length), y=(-reach, reach)))
    return Lines(
        title="No step of descent leaves its level",
        series=tuple(series),
        x_label="along the shortest solution w*",
        y_label="along what X sends to 0",
    )


def _path(name: str, plane: Array, x_ND: Array, y_N: Array, w_D: Array, step: float) -> Series:
    """A descent as it is seen in a plane."""
    across, up = zip(*(plane @ w for w in _iterates(x_ND, y_N, w_D, 2 * step, DRAWN - 1)), strict=True)
    return Series(name=name, x=tuple(map(float, across)), y=tuple(map(float, up)))


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """Least squares by singular values, the conditions as one linear system, autograd, orthogonality."""
    x_ND, y_N, start_D = question.arrays(float)
    rows, columns = x_ND.shape
    shortest = np.linalg.lstsq(x_ND, y_N, rcond=None)[0]
    yield agree("solution", "least squares by singular values", answer["solution"], shortest, 1e-8)
    kkt = np.block([[2 * np.eye(columns), x_ND.T], [x_ND, np.zeros((rows, rows))]])
    both = np.linalg.lstsq(kkt, np.concatenate([np.zeros(columns), y_N]), rcond=None)[0]
    for name, part in (("solution", both[:columns]), ("multipliers", both[columns:])):
        yield agree(name, "both conditions as one system", answer[name], part, 1e-8)
    yield agree("iterates", "autograd", answer["iterates"], _by_autograd(question))
    limit_D = start_D + np.linalg.lstsq(x_ND, y_N - x_ND @ start_D, rcond=None)[0]
    yield agree("limit", "shortest way from the start to a solution", answer["limit"], limit_D, 1e-8)
    distances, rate = _run(question, limit_D)
    slack = 1e-9 * (1 + float(np.linalg.norm(limit_D)))
    bound = rate**RUN * distances[0] + slack
    detail = f"{distances[-1]:.1e} from the limit after {RUN} steps, the bound is {bound:.1e}"
    yield holds("descent reaches the limit", "run in floating point", distances[-1] <= bound, detail)
    unseen = np.linalg.svd(x_ND)[2][np.linalg.matrix_rank(x_ND) :]  # directions that X sends to 0
    overlap = float(np.abs(unseen @ np.array(answer["solution"], float)).max(initial=0))
    detail = f"largest product with {counted(len(unseen), 'direction')} that X sends to 0: {overlap:.1e}"
    yield holds("no solution is shorter", "orthogonality", overlap <= slack, detail)


def attempt(question: Question, write: Attempt) -> None:
    """Multipliers, the shortest solution, the iterates and where they end."""
    x, y, start = question.arrays(float)
    gram = np.linalg.pinv(x @ x.T)
    multipliers = write(
        "multipliers",
        -2 * gram @ y,
        "Lagrange multipliers",
        "What follows when w = -X^T lambda / 2 is put into X w = y?",
        r"X X^T \lambda = -2 y",
        sign=("the minus sign is lost", 2 * gram @ y),
        factor=("the factor 2 is lost", -gram @ y),
    )
    write(
        "solution",
        -x.T @ multipliers / 2,
        "shortest solution",
        "How does w follow from the multipliers?",
        r"w = -\frac12 X^T \lambda",
        no_half=("the factor 1/2 is lost", -x.T @ multipliers),
        sign_w=("the minus sign is lost", x.T @ multipliers / 2),
    )

    def descent(factor: float) -> Array:
        return np.array(_iterates(x, y, start, factor * float(question.step), question.iterations))

    write(
        "iterates",
        descent(2),
        "iterates of gradient descent, the start included",
        "What is the gradient of the squared error?",
        r"w \leftarrow w - \eta \, 2 X^T (X w - y)",
        no_two=("the factor 2 of the gradient is lost", descent(1)),
        ascent=("the gradient is added instead of taken off", descent(-2)),
    )


def draw(random: Random) -> dict[str, Any]:
    """Two equations in three unknowns, and a step that is small enough."""
    while True:
        x = whole(random, -1, 2, 2, 3)
        (a, b), cross = (sum(e * e for e in row) for row in x), sum(p * q for p, q in zip(*x, strict=True))
        if a * b > cross * cross:  # full rank; the trace bounds the largest eigenvalue
            step = f"1/{a + b + random.randint(1, 4)}"
            return {"x": x, "y": whole(random, -3, 5, 2), "step": step, "iterations": random.randint(2, 3)}


def _shortest(x_ND: Array, y_N: Array) -> tuple[Array, Array, Array]:
    """The exact Moore-Penrose inverse (for any rank), the shortest solution and the shortest multipliers."""
    inverse_DN = np.vectorize(worth, otypes=[object])(sympy.Matrix(x_ND).pinv())
    solution_D = inverse_DN @ y_N
    return inverse_DN, solution_D, -2 * (inverse_DN.T @ solution_D)


def _iterates(x_ND: Array, y_N: Array, w_D: Array, factor: Any, steps: int) -> list[Array]:
    """The start and what each step makes of it: w less a factor times half the gradient, X^T (X w - y)."""
    found = [w_D]
    for _ in range(steps):
        found.append(found[-1] - factor * (x_ND.T @ (x_ND @ found[-1] - y_N)))
    return found


def _run(question: Question, limit_D: Array) -> tuple[list[float], float]:
    """The distance to the limit before each step and after the last, and by what factor a step shrinks the
    slowest direction that X sees.
    """
    x_ND, y_N, w_D = question.arrays(float)
    distances = [float(np.linalg.norm(w_D - limit_D))]
    for _ in range(RUN):
        w_D = w_D - float(question.step) * 2 * x_ND.T @ (x_ND @ w_D - y_N)
        distances.append(float(np.linalg.norm(w_D - limit_D)))
    seen = np.linalg.svd(x_ND, compute_uv=False)[: np.linalg.matrix_rank(x_ND)]
    return distances, float(np.abs(1 - 2 * float(question.step) * seen**2).max())


def _by_autograd(question: Question) -> list[list[float]]:
    x_ND, y_N, w_D = map(torch.from_numpy, question.arrays(float))
    iterates = [w_D.tolist()]
    for _ in range(question.iterations):
        w_D = w_D.detach().requires_grad_()
        (gradient,) = torch.autograd.grad((y_N - x_ND @ w_D).square().sum(), w_D)
        w_D = w_D.detach() - float(question.step) * gradient
        iterates.append(w_D.tolist())
    return iterates
