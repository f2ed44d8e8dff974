r"""A linear denoising autoencoder in closed form: it shrinks each direction by its signal-to-noise ratio.

$\min_W \mathbb{E} \lVert x - W (x + \varepsilon) \rVert^2$ with $\varepsilon \sim N(0, \tau^2 I)$ and $W = W_2 W_1$ of
rank at most k (reduced-rank regression, Izenman 1975). Shapes: m features, n samples (the columns of X), k latent.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pydantic import Field, model_validator

from vitruvius import lessons
from vitruvius.core.blocks import Bars
from vitruvius.lessons import Answer, Exact, Matrix, Proof, Step, _shapes, exact
from vitruvius.lessons._board import matrix, number, row
from vitruvius.lessons._proofs import agree, within
from vitruvius.lessons._tensors import tensor

if TYPE_CHECKING:
    from torch import Tensor

SUBJECT = "autoencoders"
FEATURES, SAMPLES = 16, 500
DRAWS = 40_000


class Question(lessons.Question):
    """Data, the standard deviation of the noise added to the input, and a latent size."""

    data: Matrix = exact(((6, 6, -10, -2), (9, 3, -1, -11), (3, -9, 5, 1)))
    """X, one sample per column."""
    noise: Exact = Fraction(3)
    latent: int | None = Field(None, ge=1)
    """Default: no bottleneck."""

    @model_validator(mode="after")
    def _fits(self) -> "Question":
        features, _ = _shapes.matrix("data", self.data, (FEATURES, SAMPLES))
        if self.latent is not None and self.latent > features:
            raise ValueError(f"latent is {self.latent}, it must be at most the {features} features of data")
        if self.noise <= 0:
            raise ValueError(f"noise is {self.noise}, it must be a positive standard deviation")
        if self.latent is not None and self.latent < features:
            _refuse_tie(self, self.latent)
        return self


def solve(question: Question) -> Iterator[Step | Answer]:
    """The moments under noise, the normal equations, the shrinkage, the bottleneck."""
    import numpy as np

    data, variance = np.array(question.data, dtype=object), question.noise**2
    moment = data @ data.T / len(question.data[0])
    m = len(moment)
    yield Step(
        says="Only two moments of the noisy input matter. The noise is independent of x, so it adds its variance "
        f"{variance} to the diagonal of the input's own moment and nothing to the moment with the clean target.",
        formula=rf"\mathbb{{E}}[x \tilde x^T] = S = {matrix(moment.tolist())}, \quad "
        rf"\mathbb{{E}}[\tilde x \tilde x^T] = S + {number(variance)} I",
        value=moment,
    )
    full = _solved(moment, moment + variance * np.eye(m, dtype=object))
    yield Step(
        says="Setting the gradient 2 (W (S + noise) - S) to zero gives the Wiener filter. Without noise it would be "
        f"the identity, which copies and learns nothing; here its trace is {float(full.trace()):.4g} instead of {m}.",
        formula=rf"W = S (S + {number(variance)} I)^{{-1}} = {matrix(full.tolist())}",
        value=full,
    )
    values = np.linalg.eigvalsh(moment.astype(float))[::-1].clip(0)
    yield _shrinkage(values, variance)
    k = question.latent or m
    best, minimum = full, (moment - full @ moment).trace()
    gains = values**2 / (values + float(variance))
    ends = [float(values.sum() - gains[:kept].sum()) for kept in range(m + 1)]
    if k < m:
        axes = np.linalg.eigh(moment.astype(float))[1][:, ::-1][:, :k]
        best, minimum = axes @ axes.T @ full.astype(float), ends[k]
    yield _bottleneck(k, minimum, ends)
    yield _assignment()
    yield Answer(fields={"map": best.tolist(), "minimum": minimum})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """Least squares on points with the same moments, and noise drawn at random."""
    import torch

    claimed_mm = torch.tensor([[float(value) for value in line] for line in answer["map"]], dtype=torch.float64)
    fitted_mm, clean_mp, noisy_mp = _fitted(question)
    method = "least squares on sigma points, then its singular value decomposition"
    yield agree("map", method, answer["map"], fitted_mm, 1e-8)
    error = (clean_mp - fitted_mm @ noisy_mp).square().sum(0).mean().item()
    yield agree("minimum", "mean error over the sigma points", answer["minimum"], error, 1e-8)
    data_mn = tensor(question.data)
    generator = torch.Generator().manual_seed(0)
    draws_mp = data_mn.repeat(1, -(-DRAWS // data_mn.shape[1]))
    noise_mp = torch.randn(draws_mp.shape, generator=generator, dtype=torch.float64) * float(question.noise)
    errors_p = (draws_mp - claimed_mm @ (draws_mp + noise_mp)).square().sum(0)
    # every sample is drawn equally often, so only the spread within a sample is chance
    spread = errors_p.view(-1, data_mn.shape[1]).var(0).mean().sqrt().item() / len(errors_p) ** 0.5
    yield within("minimum", f"{len(errors_p)} draws", float(answer["minimum"]), errors_p.mean().item(), spread)


def _shrinkage(values: Any, variance: Fraction) -> Step:
    shares = values / (values + float(variance))
    return Step(
        says="The map has the eigenvectors of S and shrinks each by signal over signal plus noise. It is ridge "
        "regression on the whole map: adding noise costs tau^2 |W|^2. Weight decay of the same size on the two factors "
        f"would leave max(0, 1 - tau^2 / sigma^2) = {max(0.0, 1 - float(variance) / values[0]):.4g} of the strongest "
        f"direction instead of {shares[0]:.4g}.",
        formula=rf"\frac{{\sigma_i^2}}{{\sigma_i^2 + {number(variance)}}} = {row(shares.tolist())}",
        value=shares,
    )


def _bottleneck(k: int, minimum: Any, ends: list[float]) -> Step:
    names = tuple(map(str, range(len(ends))))
    return Step(
        says=f"A bottleneck keeps the directions that gain most, sigma^4 / (sigma^2 + tau^2), which are the principal "
        f"ones: the subspace is that of PCA, only the shrinkage is new. With latent {k} the least expected error is "
        f"{float(minimum):.6g} of a total variance of {ends[0]:.6g}.",
        formula=rf"\min = \sum_{{i \le {k}}} \frac{{\sigma_i^2 \tau^2}}{{\sigma_i^2 + \tau^2}} + "
        rf"\sum_{{i > {k}}} \sigma_i^2 = {number(minimum)}",
        value=minimum,
        figure=Bars(title="Least error by latent size", names=names, values=tuple(ends), y_label="error"),
    )


def _assignment() -> Step:
    """The assignment's population: 20 directions of variance 10 and 80 of variance 1, noise 1/2, latent 20."""
    kept, lost, variance = (20, Fraction(10)), (80, Fraction(1)), Fraction(1, 4)
    noisy = kept[0] * kept[1] * variance / (kept[1] + variance) + lost[0] * lost[1]
    clean = kept[0] * kept[1] * (variance / (kept[1] + variance)) ** 2 + lost[0] * lost[1]
    return Step(
        says="For the assignment's synthetic data (20 directions of variance 10, 80 of variance 1, noise 1/2) with "
        f"latent 20 the training loss cannot fall below {float(noisy):.6g}; on clean inputs the same map has "
        f"{float(clean):.6g}, hardly more than the {lost[0]} of PCA.",
        formula=rf"20 \cdot \frac{{10 \cdot 1/4}}{{10 + 1/4}} + 80 = {number(noisy)}, \quad "
        rf"20 \cdot 10 \left( \frac{{1/4}}{{10 + 1/4}} \right)^2 + 80 = {number(clean)}",
        value={"noisy": noisy, "clean": clean},
    )


def _solved(left: Any, right: Any) -> Any:
    """left right^{-1} for symmetric right, exact."""
    import numpy as np
    import sympy

    solved = sympy.Matrix(right.tolist()).LUsolve(sympy.Matrix(left.T.tolist())).T
    return np.array(
        [[Fraction(int(value.p), int(value.q)) for value in line] for line in solved.tolist()], dtype=object
    )


def _refuse_tie(question: Question, latent: int) -> None:
    """A bottleneck between two equal eigenvalues would leave the map undetermined."""
    import numpy as np

    data = np.array(question.data, dtype=float)
    kept, lost = np.linalg.eigvalsh(data @ data.T / data.shape[1])[::-1][latent - 1 : latent + 1]
    if not kept - lost > 1e-9 * abs(kept):
        raise ValueError(
            f"latent is {latent}, but directions {latent} and {latent + 1} both have variance {kept:.6g}: "
            "the best map is not unique; choose another latent"
        )


@lru_cache(maxsize=8)
def _fitted(question: Question) -> tuple["Tensor", "Tensor", "Tensor"]:
    r"""The best map of the given rank for the points $x \pm \tau \sqrt m e_j$, whose moments are those of the noise."""
    import torch

    data_mn = tensor(question.data)
    m = len(data_mn)
    shifts_mp = torch.eye(m, dtype=torch.float64) * float(question.noise) * m**0.5
    shifts_mp = torch.cat([shifts_mp, -shifts_mp], 1)
    clean_mp = data_mn.repeat_interleave(2 * m, 1)
    noisy_mp = clean_mp + shifts_mp.repeat(1, data_mn.shape[1])
    map_mm = torch.linalg.lstsq(noisy_mp.T, clean_mp.T).solution.T
    axes_mk = torch.linalg.svd(map_mm @ noisy_mp, full_matrices=False).U[:, : question.latent or m]
    return axes_mk @ axes_mk.T @ map_mm, clean_mp, noisy_mp
