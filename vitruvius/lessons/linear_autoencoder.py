r"""A linear autoencoder learns the principal subspace: gradients, minimum, saddles, and what is not unique.

$\mathcal{L}(W_1, W_2) = \frac1n \lVert X - W_2 W_1 X \rVert_F^2$ (Baldi and Hornik 1989), without biases.
Shapes: m features, n samples (the columns of X), k latent; W1 is k x m, W2 is m x k."""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import comb
from random import Random
from typing import Annotated, Any

import numpy as np
import sympy
import torch
from pydantic import Field
from torch import Tensor

from vitruvius import lessons
from vitruvius.core.blocks import Bars
from vitruvius.lessons import Answer, Attempt, Board, Matrix, Proof, Step, exact
from vitruvius.lessons._attempt import write_second_moment
from vitruvius.lessons._draws import principal
from vitruvius.lessons._exact import worth
from vitruvius.lessons._proofs import agree, holds
from vitruvius.lessons._tensors import Array, tensor

SUBJECT = "autoencoders"
TASK = (
    "A linear autoencoder with latent size <latent> on data whose columns are the samples (mean 0). "
    "Work out the second moment S, the gradients of both matrices at the start (where none is given, "
    "W1 = (I 0)/2 = W2^T), the eigenvalues of S (largest first), and the least loss, a mean over the samples."
)
EXACT_FEATURES = 6  # beyond, the characteristic polynomial is not searched for rational roots
DRAWN_SUBSETS = 20
ROUNDS = 2000


class Question(lessons.Question):
    """Data and a latent size."""

    limits = {"m": (2, 16), "n": (1, 1000)}
    data: Annotated[Matrix, "m n"] = exact(((6, 6, -10, -2), (9, 3, -1, -11), (3, -9, 5, 1)))
    """X, one sample per column."""
    latent: int = Field(2, ge=1)
    start_w1: Annotated[Matrix | None, "k m"] = None
    """The encoder at which the gradients are taken; null: (I 0)/2."""
    start_w2: Annotated[Matrix | None, "m k"] = None
    """The decoder; null: (I 0)'/2."""

    def refuse(self) -> None:
        k, m = self.latent, self.sizes["m"]
        if k >= m:
            raise ValueError(f"latent is {k}, it must be smaller than the {m} features of data")
        if (given := self.sizes.get("k", k)) != k:
            name = "start_w1 has" if self.start_w1 is not None else "start_w2 has"
            raise ValueError(f"{name} latent size {given}: it needs {k}, as latent says")
        kept, lost = _spectrum(self.data, k)[1][k - 1 : k + 1]
        if not kept - lost > 1e-9 * abs(kept):
            has = f"data has the eigenvalue {float(kept):.6g} at places {k} and {k + 1}"
            raise ValueError(f"{has}: no subspace of that size is the best, choose another latent")

    def start(self) -> tuple[Array, Array]:
        """Encoder and decoder at which the gradients are taken, exact."""
        half_km = np.eye(self.latent, self.sizes["m"], dtype=object) * Fraction(1, 2)
        given = [self.start_w1 or half_km, self.start_w2 or half_km.T]
        return np.array(given[0], dtype=object), np.array(given[1], dtype=object)


def solve(question: Question) -> Iterator[Step | Answer]:
    """The gradients, the principal components as stationary point and minimum, uniqueness, saddles."""
    n, k = question.sizes["n"], question.latent
    moment_mm, values, projector_mm = _spectrum(question.data, k)
    board = Board(n=n, k=k, moment=moment_mm, eigenvalues=values, projector=projector_mm, factor=-2 / n)
    board["mean"] = max(abs(float(sum(row))) for row in question.data) / n
    yield board.step(
        "The loss sees the <n> samples only through their second moment S. Centring is no formality: without "
        "biases the autoencoder fits S itself (here the largest mean is <mean:.4g>), PCA the covariance; "
        "they agree when the means are 0.",
        r"S = \frac{1}{<n>} X X^T = <moment>",
    )
    w1_km, w2_mk = question.start()
    rest_mm = moment_mm - w2_mk @ w1_km @ moment_mm
    board |= {"w1": -2 * w2_mk.T @ rest_mm, "w2": -2 * rest_mm @ w1_km.T, "start1": w1_km, "start2": w2_mk}
    yield board.step(
        "Derive the gradients: with the residual R = X - W2 W1 X the loss is tr(R'R)/<n>. A small change dW2 "
        "changes R by -dW2 W1 X, a change dW1 by -W2 dW1 X; a trace lets its factors turn round, and what "
        "stands before a change is its gradient, transposed. Set to 0, they are the first-order conditions.",
        r"d\mathcal{L} = \frac{2}{n} \mathrm{tr}(R^T dR) = -\frac{2}{n} \mathrm{tr}(W_1 X R^T \, dW_2) - "
        r"\frac{2}{n} \mathrm{tr}(X R^T W_2 \, dW_1) \; \Rightarrow \; (X - W_2 W_1 X) X^T W_1^T = 0, \quad "
        r"W_2^T (X - W_2 W_1 X) X^T = 0",
    )
    yield board.step(
        "At an optimum both gradients vanish; at this start they are not 0 in general. The common mistake is "
        "to "
        "lose the factor -2/n = <factor:.4g>, or to write the second without W2' in front, where not even "
        "the shapes fit.",
        r"W_1 = <start1>, \quad W_2 = <start2>: \quad "
        r"\nabla_{W_2} = -\frac{2}{n} (X - W_2 W_1 X) X^T W_1^T = <w2>, \quad \nabla_{W_1} = -\frac{2}{n} "
        r"W_2^T (X - W_2 W_1 X) X^T = <w1>",
        "w1 w2",
    )
    yield from _minimum(board)
    yield from _other_solutions(board)
    gradients = {"start": board.pick("w1 w2"), "principal": {"w1": 0 * w1_km, "w2": 0 * w2_mk}}
    yield Answer(fields={"gradients": gradients, **board.pick("eigenvalues minimum projector pca_gap")})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """Autograd, the singular value decomposition of the data, and weights fitted from a random start."""
    found, k = _again(question), question.latent
    values = found["eigenvalues"]
    yield agree("gradients", "autograd in float64", answer["gradients"], found["gradients"], 1e-8)
    yield agree("eigenvalues", "singular values of X, squared, over n", answer["eigenvalues"], values)
    yield agree("projector", "left singular vectors of X", answer["projector"], found["projector"], 1e-8)
    method = "random weights, alternating least squares"
    yield agree("minimum", method, answer["minimum"], found["loss"], 1e-8)
    gap, claimed = found["loss"] - sum(values[k:]), float(answer["pca_gap"])
    detail = f"fitted loss minus that of PCA: {gap:.1e}; claimed: {claimed:.1e}"
    yield holds("PCA is reached", method, abs(claimed - gap) <= 5e-9 * sum(values), detail)
    curvature, formula = found["curvature"], -2 * (values[k - 1] - values[k])
    detail, close = f"{curvature:.9g} by autograd, {formula:.9g} by formula", 1e-8 * values[0]
    method = "second derivative by autograd"
    yield holds("a saddle falls off", method, abs(curvature - formula) <= close, detail)


def attempt(question: Question, write: Attempt) -> None:
    """The moment, the gradients at the start, the eigenvalues, the minimum."""
    data, k = np.array(question.data, float), question.latent
    moment = write_second_moment(write, data)
    w1, w2 = (matrix.astype(float) for matrix in question.start())
    rest = moment - w2 @ w1 @ moment
    write(
        "w2",
        -2 * rest @ w1.T,
        "gradient of the decoder W2 at the start",
        "Which factor comes from the square and the mean, and what did W2 multiply?",
        r"\nabla_{W_2} = -\frac{2}{n} (X - W_2 W_1 X) X^T W_1^T",
        factor=("the factor 2 is lost", -rest @ w1.T),
        sign=("the minus sign is lost", 2 * rest @ w1.T),
    )
    write(
        "w1",
        -2 * w2.T @ rest,
        "gradient of the encoder W1 at the start",
        "Through which matrix does the error reach W1?",
        r"\nabla_{W_1} = -\frac{2}{n} W_2^T (X - W_2 W_1 X) X^T",
        factor=("the factor 2 is lost", -w2.T @ rest),
        sign=("the minus sign is lost", 2 * w2.T @ rest),
    )
    values = write(
        "eigenvalues",
        np.linalg.eigvalsh(moment)[::-1],
        "eigenvalues of S, largest first",
        "Which numbers does S multiply its own directions with?",
        r"\det(S - \sigma^2 I) = 0",
        roots=("their roots are given", np.linalg.eigvalsh(moment)[::-1].clip(0) ** 0.5),
    )
    write(
        "minimum",
        float(values[k:].sum()),
        "least loss",
        "Which directions are lost behind the bottleneck?",
        r"\sum_{i > k} \sigma_i^2",
        kept=("the eigenvalues that are kept are added up", float(values[:k].sum())),
        one_more=("one direction more is taken to be lost", float(values[k - 1 :].sum())),
    )


def draw(random: Random) -> dict[str, Any]:
    """Data with square eigenvalues."""
    return {"data": principal(random), "latent": random.randint(1, 2)}


def _minimum(board: Board) -> Iterator[Step]:
    k, moment_mm, values, projector_mm = (board[name] for name in ("k", "moment", "eigenvalues", "projector"))
    board |= {"share": sum(values[:k]) / sum(values), "minimum": sum(values[k:])}
    yield board.step(
        "The eigenvalues of S, and the projector onto the first <k> eigenvectors, which keep <share:.2%> of "
        "the variance.",
        r"\sigma^2 = <eigenvalues>, \quad U_k U_k^T = <projector>",
        "eigenvalues projector",
    )
    missed_mm = moment_mm @ projector_mm - projector_mm @ moment_mm @ projector_mm
    board["miss"] = _rounded(abs(missed_mm).max(), values)
    yield board.step(
        "The principal components satisfy both conditions, because S maps their span into itself: the "
        "largest entry of (I - UU')SUU' is <miss:.3g>. The projector looks like a block of ones and zeros "
        "only in the coordinates of the eigenvectors.",
        r"(I - U_k U_k^T) S U_k = U_k \Lambda_k - U_k U_k^T U_k \Lambda_k = 0",
        "miss",
    )
    board["pca_gap"] = _rounded((moment_mm - projector_mm @ moment_mm).trace() - board["minimum"], values)
    yield board.step(
        "No map of rank <k> does better (Eckart and Young 1936): the minimum is the sum of the eigenvalues "
        "left out, and the loss of the projector misses it by <pca_gap:.3g>.",
        r"\min \mathcal{L} = \sum_{i > <k>} \sigma_i^2 = <minimum>",
    )


def _other_solutions(board: Board) -> Iterator[Step]:
    """The weights are not unique, and other eigenvectors are stationary, too."""
    k, values = board["k"], board["eigenvalues"]
    bend_kk = 2 * np.eye(k, dtype=int) + np.eye(k, k=1, dtype=int)
    lengths = ", ".join(f"{length:.4g}" for length in np.linalg.norm(bend_kk, axis=0))
    board |= {"bend": bend_kk, "lengths": lengths, "next": k + 1, "fall": -2 * (values[k - 1] - values[k])}
    yield board.step(
        "What is unique is the subspace, not the weights: any invertible G leaves the product and so the "
        "loss untouched. With this G the columns of the decoder have lengths <lengths> instead of 1. To call "
        "the principal components unique up to sign is the common mistake; it takes more than this loss to "
        "single them out.",
        r"W_2 W_1 = (U_k G)(G^{-1} U_k^T) = U_k U_k^T, \quad G = <bend>",
    )
    figure = None
    if comb(len(values), k) <= DRAWN_SUBSETS:
        subsets = list(combinations(range(len(values)), k))
        names = tuple(" ".join(f"u{i + 1}" for i in kept) for kept in subsets)
        losses = tuple(float(sum(values) - sum(values[i] for i in kept)) for kept in subsets)
        figure = Bars(title="Loss at every stationary subspace", names=names, values=losses, y_label="loss")
    yield board.step(
        "Any <k> eigenvectors satisfy the same two conditions, so these are necessary but not sufficient: "
        "every choice but the first <k> is a saddle. From the best of them, with u<next> in place of u<k>, "
        "turning back towards u<k> lowers the loss with second derivative <fall:.6g>.",
        r"\frac{d^2 \mathcal{L}}{d\theta^2} = -2 (\sigma_{<k>}^2 - \sigma_{<next>}^2) = <fall>",
        figure=figure,
    )


@lru_cache(maxsize=8)
def _spectrum(data: Matrix, k: int) -> tuple[Array, list[Any], Array]:
    """S = XX'/n, its eigenvalues, largest first, and the projector onto the first k eigenvectors.

    Exact where all eigenvalues are rational."""
    data_mn = np.array(data, dtype=object)
    moment_mm = data_mn @ data_mn.T / len(data[0])
    roots = _rational_roots(moment_mm)
    if roots is None:
        values, vectors_mm = np.linalg.eigh(moment_mm.astype(float))
        kept_mk = vectors_mm[:, ::-1][:, :k]
        return moment_mm, [_rounded(v, values[::-1]) for v in values[::-1].tolist()], kept_mk @ kept_mk.T
    projector_mm, identity_mm = 0 * moment_mm, np.eye(len(moment_mm), dtype=object)
    for value in set(roots[:k]):
        term_mm = identity_mm
        for other in set(roots) - {value}:
            term_mm = term_mm @ (moment_mm - other * identity_mm) / (value - other)
        projector_mm = projector_mm + term_mm
    return moment_mm, roots, projector_mm


def _rational_roots(moment_mm: Array) -> list[Any] | None:
    """All eigenvalues as fractions, largest first, if they are fractions."""
    if len(moment_mm) > EXACT_FEATURES:
        return None
    polynomial = sympy.Matrix(moment_mm.tolist()).charpoly()
    found = sympy.Poly(polynomial.as_expr(), polynomial.gen).ground_roots()
    roots = [worth(root) for root, times in found.items() for _ in range(times)]
    return sorted(roots, reverse=True) if len(roots) == len(moment_mm) else None


def _rounded(value: Any, values: Any) -> Any:
    """0 for a value that is only rounding error, measured by the largest eigenvalue."""
    return 0 if abs(value) <= 1e-11 * abs(values[0]) else value


@lru_cache(maxsize=8)
def _again(question: Question) -> dict[str, Any]:
    """Everything a second time, in float64 and from the data themselves."""
    data_mn = tensor(question.data)
    (m, n), k = data_mn.shape, question.latent
    axes_mm, sizes, _ = torch.linalg.svd(data_mn)
    values_m = torch.zeros(m, dtype=torch.float64)
    values_m[: len(sizes)] = sizes.square() / n

    def loss(w1_km: Tensor, w2_mk: Tensor) -> Tensor:
        return (data_mn - w2_mk @ (w1_km @ data_mn)).square().sum() / n

    def gradients(w1_km: Tensor, w2_mk: Tensor) -> dict[str, Tensor]:
        weights = w1_km.clone().requires_grad_(), w2_mk.clone().requires_grad_()
        w1, w2 = torch.autograd.grad(loss(*weights), weights)
        return {"w1": w1.where(w1.abs() > noise, 0), "w2": w2.where(w2.abs() > noise, 0)}

    noise, angle = 1e-11 * values_m[0], torch.zeros((), dtype=torch.float64, requires_grad=True)
    turned_m = axes_mm[:, k] * angle.cos() + axes_mm[:, k - 1] * angle.sin()
    saddle_mk = torch.cat([axes_mm[:, : k - 1], turned_m[:, None]], 1)
    (slope,) = torch.autograd.grad(loss(saddle_mk.T, saddle_mk), angle, create_graph=True)
    w2_mk = torch.randn(m, k, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for _ in range(ROUNDS):  # encoder and decoder, each in turn the best for the other
        w1_km = torch.linalg.pinv(w2_mk)
        w2_mk = data_mn @ torch.linalg.pinv(w1_km @ data_mn)
    return {
        "gradients": {
            "start": gradients(*map(tensor, question.start())),
            "principal": gradients(axes_mm[:, :k].T, axes_mm[:, :k]),
        },
        "eigenvalues": values_m.where(values_m > noise, 0).tolist(),
        "projector": axes_mm[:, :k] @ axes_mm[:, :k].T,
        "loss": loss(w1_km, w2_mk).item(),
        "curvature": torch.autograd.grad(slope, angle)[0].item(),
    }
