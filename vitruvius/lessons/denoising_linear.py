r"""A linear denoising autoencoder in closed form: it shrinks each direction by its signal-to-noise ratio.

$\min_W \mathbb{E} \lVert x - W (x + \varepsilon) \rVert^2$ with $\varepsilon \sim N(0, \tau^2 I)$ and
$W = W_2 W_1$ of rank at most k (reduced-rank regression, Izenman 1975). Shapes: m features, n samples (the
columns of X), k latent, p points."""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from random import Random
from typing import Annotated, Any

import numpy as np
import sympy
import torch
from pydantic import Field
from torch import Tensor

from vitruvius import lessons
from vitruvius.core.blocks import Bars
from vitruvius.lessons import Answer, Attempt, Board, Exact, Matrix, Proof, Step, exact
from vitruvius.lessons._attempt import write_second_moment
from vitruvius.lessons._draws import principal
from vitruvius.lessons._exact import worth
from vitruvius.lessons._proofs import agree, within
from vitruvius.lessons._tensors import Array, arrays, tensor, tensors

SUBJECT = "autoencoders"
TASK = (
    "A linear autoencoder learns to remove noise of standard deviation <noise> from its input, "
    "without a bottleneck. The columns of data are the samples (mean 0). Work out their second moment "
    "S, the best map W, the factor by which each principal direction shrinks (largest first), and the "
    "least expected error."
)
DRAWS = 40_000


class Question(lessons.Question):
    """Data, the standard deviation of the noise added to the input, and a latent size."""

    limits = {"m": (1, 16), "n": (1, 500)}
    data: Annotated[Matrix, "m n"] = exact(((6, 6, -10, -2), (9, 3, -1, -11), (3, -9, 5, 1)))
    """X, one sample per column."""
    noise: Exact = Fraction(3)
    latent: int | None = Field(None, ge=1)
    """Default: no bottleneck."""

    def refuse(self) -> None:
        m, k, data_mn = self.sizes["m"], self.latent, np.array(self.data, float)
        if k is not None and k > m:
            raise ValueError(f"latent is {k}, it must be at most the {m} features of data")
        if self.noise <= 0:
            raise ValueError(f"noise is {self.noise}, it must be a positive standard deviation")
        values = np.linalg.eigvalsh(data_mn @ data_mn.T / data_mn.shape[1])[::-1]
        if k is not None and k < m and not values[k - 1] - values[k] > 1e-9 * abs(values[k - 1]):
            both = f"directions {k} and {k + 1} both have variance {values[k - 1]:.6g}"
            raise ValueError(f"latent is {k}, but {both}: the best map is not unique; choose another latent")


def solve(question: Question) -> Iterator[Step | Answer]:
    """The moments under noise, the normal equations, the shrinkage, the bottleneck."""
    m, data_mn, variance = question.sizes["m"], np.array(question.data, dtype=object), question.noise**2
    moment_mm = data_mn @ data_mn.T / data_mn.shape[1]
    board = Board(m=m, k=question.latent or m, moment=moment_mm, variance=variance)
    yield board.step(
        "Only two moments of the noisy input matter. The noise is independent of x, so it adds its variance "
        "<variance> to the diagonal of the input's own moment and nothing to the moment with the clean "
        "target.",
        r"\mathbb{E}[x \tilde x^T] = S = <moment>, \quad \mathbb{E}[\tilde x \tilde x^T] = S + <variance> I",
        "moment",
    )
    noisy_mm = moment_mm + variance * np.eye(m, dtype=object)
    solved_mm = sympy.Matrix(noisy_mm).LUsolve(sympy.Matrix(moment_mm))
    full_mm = np.vectorize(worth, otypes=[object])(solved_mm.T)
    board |= {"noisy": noisy_mm, "full": full_mm, "trace": full_mm.trace()}
    yield board.step(
        "Setting the gradient 2 (W (S + noise) - S) to zero gives the Wiener filter. Without noise it would "
        "be the identity, which copies and learns nothing; here its trace is <trace:.4g> instead of <m>.",
        r"W = S (S + <variance> I)^{-1} = <moment> <noisy>^{-1} = <full>",
    )
    values_m = np.linalg.eigvalsh(moment_mm.astype(float))[::-1].clip(0)
    shares_m = values_m / (values_m + float(variance))
    board |= {"shares": shares_m, "decayed": max(0.0, 1 - float(variance) / values_m[0])}
    yield board.step(
        "The map has the eigenvectors of S and shrinks each by signal over signal plus noise. It is ridge "
        "regression on the whole map: adding noise costs tau^2 |W|^2. Weight decay of the same size on the "
        "two factors would leave max(0, 1 - tau^2 / sigma^2) = <decayed:.4g> of the strongest direction "
        "instead of <shares[0]:.4g>.",
        r"\frac{\sigma_i^2}{\sigma_i^2 + <variance>} = <shares>",
    )
    gains_m = values_m**2 / (values_m + float(variance))
    board["ends"] = [float(values_m.sum() - gains_m[:kept].sum()) for kept in range(m + 1)]
    board |= {"map": full_mm, "minimum": (moment_mm - full_mm @ moment_mm).trace()}
    if (k := board["k"]) < m:
        axes_mk = np.linalg.eigh(moment_mm.astype(float))[1][:, ::-1][:, :k]
        board |= {"map": axes_mk @ axes_mk.T @ full_mm.astype(float), "minimum": board["ends"][k]}
    yield from _bottleneck(board)
    yield Answer(fields=board.pick("map minimum"))


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """Least squares on points with the same moments, and noise drawn at random."""
    claimed_mm, data_mn = tensors(answer["map"], question.data)
    fitted_mm, error = _fitted(question)
    method = "least squares on sigma points, then its singular value decomposition"
    yield agree("map", method, answer["map"], fitted_mm, 1e-8)
    yield agree("minimum", "mean error over the sigma points", answer["minimum"], error, 1e-8)
    draws_mp = data_mn.repeat(1, -(-DRAWS // data_mn.shape[1]))
    noise_mp = torch.randn(draws_mp.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    errors_p = (draws_mp - claimed_mm @ (draws_mp + noise_mp * float(question.noise))).square().sum(0)
    # every sample is drawn equally often, so only the spread within a sample is chance
    spread = errors_p.view(-1, data_mn.shape[1]).var(0).mean().sqrt().item() / len(errors_p) ** 0.5
    yield within("minimum", f"{len(errors_p)} draws", answer["minimum"], errors_p.mean().item(), spread)


def attempt(question: Question, write: Attempt) -> None:
    """The moment, the best map, the factors, the least error."""
    (data,), tau2 = arrays(question.data), float(question.noise) ** 2
    moment = write_second_moment(write, data)
    eye = np.eye(len(moment))

    def best(variance: float) -> Array:
        return np.linalg.solve(moment + variance * eye, moment).T

    full = write(
        "full",
        best(tau2),
        "best map without a bottleneck",
        "Which moment of the noisy input is inverted?",
        r"W = S (S + \tau^2 I)^{-1}",
        deviation=("the standard deviation is added, not the variance", best(tau2**0.5)),
        inverse_noise=("the noise is in front: tau^2 (S + tau^2 I)^-1", eye - best(tau2)),
    )
    values = np.linalg.eigvalsh(moment)[::-1].clip(0)
    decayed = 1 - tau2 / np.maximum(values, 1e-300)
    write(
        "shares",
        values / (values + tau2),
        "factor of each principal direction",
        "How large is the signal beside signal and noise together?",
        r"\frac{\sigma_i^2}{\sigma_i^2 + \tau^2}",
        decay=("the factor of weight decay, 1 - tau^2 / sigma^2, is taken", decayed),
        deviations=("deviations are taken for variances", values**0.5 / (values**0.5 + tau2**0.5)),
    )
    k = question.latent or len(values)
    kept = np.sum(values[:k] * tau2 / (values[:k] + tau2))
    lost = eye - full
    write(
        "minimum",
        float(np.trace(lost @ moment) if k == len(values) else kept + values[k:].sum()),
        "least expected error",
        "What is left of each direction's variance?",
        r"\mathrm{tr}(S - W S)",
        clean=("the map is given clean inputs, without noise", float(np.trace(lost @ moment @ lost.T))),
    )


def draw(random: Random) -> dict[str, Any]:
    """Data with square eigenvalues, and whole noise."""
    return {"data": principal(random), "noise": random.randint(1, 4)}


def _bottleneck(board: Board) -> Iterator[Step]:
    """The least error by latent size, and the assignment's own population."""
    names, ends = tuple(map(str, range(board["m"] + 1))), tuple(board["ends"])
    yield board.step(
        "A bottleneck keeps the directions that gain most, sigma^4 / (sigma^2 + tau^2), which are the "
        "principal ones: the subspace is that of PCA, only the shrinkage is new. With latent <k> the least "
        "expected error is <minimum:.6g> of a total variance of <ends[0]:.6g>.",
        r"\min = \sum_{i \le <k>} \frac{\sigma_i^2 \tau^2}{\sigma_i^2 + \tau^2} + \sum_{i > <k>} \sigma_i^2 "
        r"= <minimum>",
        figure=Bars(title="Least error by latent size", names=names, values=ends, y_label="error"),
    )
    left = Fraction(1, 4) / (10 + Fraction(1, 4))  # the share of a direction of variance 10 that is lost
    yield Board(noisy=200 * left + 80, clean=200 * left**2 + 80).step(
        "For the data set `synthetic` of this package (20 directions of variance 10, 80 of 1, noise 1/2) "
        "with latent 20 the training loss cannot fall below <noisy:.6g>; on clean inputs the same map has "
        "<clean:.6g>, hardly more than the 80 of PCA.",
        r"20 \cdot \frac{10 \cdot 1/4}{10 + 1/4} + 80 = <noisy>, \quad 20 \cdot 10 \left( \frac{1/4}{10 + "
        r"1/4} \right)^2 + 80 = <clean>",
        "noisy clean",
    )


@lru_cache(maxsize=8)
def _fitted(question: Question) -> tuple[Tensor, float]:
    r"""The best map of the given rank for the points $x \pm \tau \sqrt m e_j$, and its mean error.

    The moments of these points are those of the noise."""
    data_mn = tensor(question.data)
    m, n = data_mn.shape
    shifts_mm = torch.eye(m, dtype=torch.float64) * float(question.noise) * m**0.5
    clean_mp = data_mn.repeat_interleave(2 * m, 1)
    noisy_mp = clean_mp + torch.cat([shifts_mm, -shifts_mm], 1).repeat(1, n)
    map_mm = torch.linalg.lstsq(noisy_mp.T, clean_mp.T).solution.T
    axes_mk = torch.linalg.svd(map_mm @ noisy_mp, full_matrices=False).U[:, : question.latent or m]
    map_mm = axes_mk @ axes_mk.T @ map_mm
    return map_mm, (clean_mp - map_mm @ noisy_mp).square().sum(0).mean().item()
