r"""A linear autoencoder learns the principal subspace: gradients, minimum, saddles, and what is not unique.

$\mathcal{L}(W_1, W_2) = \frac1n \lVert X - W_2 W_1 X \rVert_F^2$ (Baldi and Hornik 1989), without biases.
Shapes: m features, n samples (the columns of X), k latent; W1 is k x m, W2 is m x k.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

from pydantic import Field, model_validator

from vitruvius import lessons
from vitruvius.core.blocks import Bars
from vitruvius.lessons import Answer, Matrix, Proof, Step, _shapes, exact
from vitruvius.lessons._board import matrix, number
from vitruvius.lessons._proofs import agree, holds
from vitruvius.lessons._tensors import tensor

if TYPE_CHECKING:
    from torch import Tensor

SUBJECT = "autoencoders"
FEATURES, SAMPLES = 16, 1000
EXACT_FEATURES = 6  # beyond, the characteristic polynomial is not searched for rational roots
DRAWN_SUBSETS = 20
ROUNDS = 2000


class Question(lessons.Question):
    """Data and a latent size."""

    data: Matrix = exact(((6, 6, -10, -2), (9, 3, -1, -11), (3, -9, 5, 1)))
    """X, one sample per column."""
    latent: int = Field(2, ge=1)

    @model_validator(mode="after")
    def _fits(self) -> "Question":
        features, _ = _shapes.matrix("data", self.data, (FEATURES, SAMPLES), least=2)
        if self.latent >= features:
            raise ValueError(f"latent is {self.latent}, it must be smaller than the {features} features of data")
        kept, lost = _spectrum(self.data, self.latent)[1][self.latent - 1 : self.latent + 1]
        if not kept - lost > 1e-9 * abs(kept):
            has = f"data has the eigenvalue {float(kept):.6g} at places {self.latent} and {self.latent + 1}"
            raise ValueError(f"{has}: no subspace of that size is the best, choose another latent")
        return self


def solve(question: Question) -> Iterator[Step | Answer]:
    """The gradients, the principal components as stationary point and minimum, uniqueness, saddles."""
    samples, k = len(question.data[0]), question.latent
    moment, values, projector = _spectrum(question.data, k)
    mean = max(abs(float(sum(row))) for row in question.data) / samples
    yield Step(
        says=f"The loss sees the {samples} samples only through their second moment S. Centring is no formality: "
        f"without biases the autoencoder fits S itself (here the largest mean is {mean:.4g}), PCA the "
        "covariance; they agree when the means are 0.",
        formula=rf"S = \frac{{1}}{{{samples}}} X X^T = {matrix(moment.tolist())}",
        value=moment,
    )
    start = _start_gradients(moment, k)
    yield Step(
        says=f"At an optimum both gradients vanish; at W1 = (I 0)/2 = W2' they are these. The common mistake is to "
        f"lose the factor -2/n = {-2 / samples:.4g}, or to write the second without W2' in front, where not even the "
        "shapes fit.",
        formula=rf"\nabla_{{W_2}} = -\frac{{2}}{{n}} (X - W_2 W_1 X) X^T W_1^T = {matrix(start['w2'])}, \quad "
        rf"\nabla_{{W_1}} = -\frac{{2}}{{n}} W_2^T (X - W_2 W_1 X) X^T = {matrix(start['w1'])}",
        value=start,
    )
    gap = _rounded((moment - projector @ moment).trace() - sum(values[k:]), values)
    yield from _principal(moment, values, projector, gap)
    yield _uniqueness(k)
    yield _saddles(values, k)
    zero = {"w1": [[0] * len(moment)] * k, "w2": [[0] * k] * len(moment)}
    found = {"eigenvalues": values, "minimum": sum(values[k:]), "projector": projector.tolist(), "pca_gap": gap}
    yield Answer(fields={"gradients": {"start": start, "principal": zero}, **found})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """Autograd, the singular value decomposition of the data, and weights fitted from a random start."""
    found, k = _again(question), question.latent
    values = found["eigenvalues"]
    yield agree("gradients", "autograd in float64", answer["gradients"], found["gradients"], 1e-8)
    yield agree("eigenvalues", "singular values of X, squared, over n", answer["eigenvalues"], values)
    yield agree("projector", "left singular vectors of X", answer["projector"], found["projector"], 1e-8)
    method = "random weights, alternating least squares"
    yield agree("minimum", method, answer["minimum"], found["loss"], 1e-8)
    gap = found["loss"] - sum(values[k:])
    detail = f"fitted loss minus that of PCA: {gap:.1e}; claimed: {float(answer['pca_gap']):.1e}"
    yield holds("PCA is reached", method, abs(float(answer["pca_gap"]) - gap) <= 5e-9 * sum(values), detail)
    detail = f"{found['curvature']:.9g} by autograd, {-2 * (values[k - 1] - values[k]):.9g} by formula"
    close = abs(found["curvature"] + 2 * (values[k - 1] - values[k])) <= 1e-8 * values[0]
    yield holds("a saddle falls off", "second derivative by autograd", close, detail)


def _principal(moment: Any, values: list[Any], projector: Any, gap: Any) -> Iterator[Step]:
    k = round(float(projector.trace()))
    yield Step(
        says=f"The eigenvalues of S, and the projector onto the first {k} eigenvectors, which keep "
        f"{float(sum(values[:k]) / sum(values)):.2%} of the variance.",
        formula=rf"\sigma^2 = {matrix([values])}, \quad U_k U_k^T = {matrix(projector.tolist())}",
        value={"eigenvalues": values, "projector": projector},
    )
    miss = _rounded(abs(moment @ projector - projector @ moment @ projector).max(), values)
    yield Step(
        says="The principal components satisfy both conditions, because S maps their span into itself: the largest "
        f"entry of (I - UU')SUU' is {float(miss):.3g}. The projector looks like a block of ones and zeros only in the "
        "coordinates of the eigenvectors.",
        formula=r"(I - U_k U_k^T) S U_k = U_k \Lambda_k - U_k U_k^T U_k \Lambda_k = 0",
        value=miss,
    )
    yield Step(
        says=f"No map of rank {k} does better (Eckart and Young 1936): the minimum is the sum of the eigenvalues left "
        f"out, and the loss of the projector misses it by {float(gap):.3g}.",
        formula=rf"\min \mathcal{{L}} = \sum_{{i > {k}}} \sigma_i^2 = {number(sum(values[k:]))}",
        value=sum(values[k:]),
    )


def _uniqueness(k: int) -> Step:
    import numpy as np

    bend = 2 * np.eye(k, dtype=int) + np.eye(k, k=1, dtype=int)
    lengths = ", ".join(f"{float(length):.4g}" for length in np.linalg.norm(bend, axis=0))
    return Step(
        says="What is unique is the subspace, not the weights: any invertible G leaves the product and so the loss "
        f"untouched. With this G the columns of the decoder have lengths {lengths} instead of 1. To call the principal "
        "components unique up to sign is the common mistake; it takes more than this loss to single them out.",
        formula=rf"W_2 W_1 = (U_k G)(G^{{-1}} U_k^T) = U_k U_k^T, \quad G = {matrix(bend.tolist())}",
        value=bend,
    )


def _saddles(values: list[Any], k: int) -> Step:
    drawn = comb(len(values), k) <= DRAWN_SUBSETS
    losses = {
        " ".join(f"u{i + 1}" for i in kept): float(sum(values) - sum(values[i] for i in kept))
        for kept in (combinations(range(len(values)), k) if drawn else ())
    }
    fall = -2 * (values[k - 1] - values[k])
    title = "Loss at every stationary subspace"
    return Step(
        says=f"Any {k} eigenvectors satisfy the same two conditions, so these are necessary but not sufficient: every "
        f"choice but the first {k} is a saddle. From the best of them, with u{k + 1} in place of u{k}, turning "
        f"back towards u{k} lowers the loss with second derivative {float(fall):.6g}.",
        formula=rf"\frac{{d^2 \mathcal{{L}}}}{{d\theta^2}} = -2 (\sigma_{{{k}}}^2 - \sigma_{{{k + 1}}}^2)"
        rf" = {number(fall)}",
        value=fall,
        figure=Bars(title=title, names=tuple(losses), values=tuple(losses.values()), y_label="loss") if drawn else None,
    )


def _start_gradients(moment: Any, k: int) -> dict[str, Any]:
    import numpy as np

    w1 = np.eye(k, len(moment), dtype=object) * Fraction(1, 2)
    rest = moment - w1.T @ w1 @ moment
    return {"w1": (-2 * w1 @ rest).tolist(), "w2": (-2 * rest @ w1.T).tolist()}


@lru_cache(maxsize=8)
def _spectrum(data: Matrix, k: int) -> tuple[Any, list[Any], Any]:
    """S = XX'/n, its eigenvalues, largest first, and the projector onto the first k eigenvectors.

    Exact where all eigenvalues are rational.
    """
    import numpy as np

    exact = np.array(data, dtype=object)
    moment = exact @ exact.T / len(data[0])
    roots = _rational_roots(moment)
    if roots is None:
        values, vectors = np.linalg.eigh(moment.astype(float))
        kept = vectors[:, ::-1][:, :k]
        return moment, [_rounded(value, values[::-1]) for value in values[::-1].tolist()], kept @ kept.T
    projector, identity = 0 * moment, np.eye(len(moment), dtype=object)
    for value in set(roots[:k]):
        term = identity
        for other in set(roots) - {value}:
            term = term @ (moment - other * identity) / (value - other)
        projector = projector + term
    return moment, roots, projector


def _rational_roots(moment: Any) -> list[Fraction] | None:
    """All eigenvalues as fractions, largest first, if they are fractions."""
    import sympy

    if len(moment) > EXACT_FEATURES:
        return None
    polynomial = sympy.Matrix(moment.tolist()).charpoly()
    found = sympy.Poly(polynomial.as_expr(), polynomial.gen).ground_roots()
    roots = [Fraction(int(root.p), int(root.q)) for root, times in found.items() for _ in range(times)]
    return sorted(roots, reverse=True) if len(roots) == len(moment) else None


def _rounded(value: Any, values: Any) -> Any:
    """A value that is nothing but rounding, measured by the largest eigenvalue, as 0."""
    return 0 if abs(value) <= 1e-11 * abs(values[0]) else value


@lru_cache(maxsize=8)
def _again(question: Question) -> dict[str, Any]:
    """Everything a second time, in float64 and from the data themselves."""
    import torch

    data_mn = tensor(question.data)
    (m, samples), k = data_mn.shape, question.latent

    def loss(w1_km: "Tensor", w2_mk: "Tensor") -> "Tensor":
        return (data_mn - w2_mk @ (w1_km @ data_mn)).square().sum() / samples

    def gradients(w2_mk: "Tensor") -> dict[str, "Tensor"]:
        w1_km, w2_mk = w2_mk.T.clone().requires_grad_(), w2_mk.clone().requires_grad_()
        grads = torch.autograd.grad(loss(w1_km, w2_mk), (w1_km, w2_mk))
        w1, w2 = (grad.where(grad.abs() > 1e-11 * values[0], 0) for grad in grads)
        return {"w1": w1, "w2": w2}

    def turned() -> "Tensor":
        last_m = axes_mm[:, k] * angle.cos() + axes_mm[:, k - 1] * angle.sin()
        w2_mk = torch.cat([axes_mm[:, : k - 1], last_m[:, None]], 1)
        return loss(w2_mk.T, w2_mk)

    axes_mm, sizes, _ = torch.linalg.svd(data_mn)
    angle = torch.zeros((), dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(turned(), angle, create_graph=True)
    values = torch.zeros(m, dtype=torch.float64)
    values[: len(sizes)] = sizes.square() / samples
    return {
        "gradients": {"start": gradients(torch.eye(m, k).double() / 2), "principal": gradients(axes_mm[:, :k])},
        "eigenvalues": values.where(values > 1e-11 * values[0], 0).tolist(),
        "projector": axes_mm[:, :k] @ axes_mm[:, :k].T,
        "loss": loss(*_fitted(data_mn, k)).item(),
        "curvature": torch.autograd.grad(slope, angle)[0].item(),
    }


def _fitted(data_mn: "Tensor", k: int) -> tuple["Tensor", "Tensor"]:
    """Encoder and decoder from a random start, each in turn the best for the other."""
    import torch

    w2_mk = torch.randn(len(data_mn), k, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for _ in range(ROUNDS):
        w1_km = torch.linalg.pinv(w2_mk)
        w2_mk = data_mn @ torch.linalg.pinv(w1_km @ data_mn)
    return w1_km, w2_mk
