r"""A linear masked autoencoder in closed form: features repair each other through their correlations.

$\min_W \mathbb{E} \lVert x - W (b \odot x) \rVert^2$, where each entry of b is 0 with probability p, otherwise 1 (no
rescaling, loss over all entries), and $W = W_2 W_1$ has rank at most k.
Shapes: m features, n samples (the columns of X), k latent, p points (a sample under a mask).
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any

from pydantic import Field, model_validator

from vitruvius import lessons
from vitruvius.core.blocks import Heatmap
from vitruvius.lessons import Answer, Exact, Matrix, Proof, Step, _shapes, exact
from vitruvius.lessons._board import matrix, number, row
from vitruvius.lessons._proofs import agree, holds, within
from vitruvius.lessons._tensors import tensor

if TYPE_CHECKING:
    from torch import Tensor

SUBJECT = "autoencoders"
FEATURES, SAMPLES = 10, 200
DRAWS = 40_000


class Question(lessons.Question):
    """Data, the probability that an entry of the input is set to 0, and a latent size."""

    data: Matrix = exact(((6, 6, -10, -2), (9, 3, -1, -11), (3, -9, 5, 1)))
    """X, one sample per column."""
    mask: Exact = Fraction(1, 4)
    latent: int | None = Field(None, ge=1)
    """Default: no bottleneck."""

    @model_validator(mode="after")
    def _fits(self) -> "Question":
        features, _ = _shapes.matrix("data", self.data, (FEATURES, SAMPLES))
        if not all(any(row) for row in self.data):
            raise ValueError("data has a row of zeros, it needs rows with a variance: a constant 0 cannot be masked")
        if self.latent is not None and self.latent > features:
            raise ValueError(f"latent is {self.latent}, it must be at most the {features} features of data")
        if not Fraction(1, 1000) <= self.mask <= Fraction(999, 1000):
            raise ValueError(f"mask is {self.mask}, it must be a probability from 1/1000 to 999/1000")
        if self.latent is not None and self.latent < features:
            _refuse_tie(self, self.latent)
        return self


def solve(question: Question) -> Iterator[Step | Answer]:
    """The moments under masking, the normal equations, what a masked entry is filled with, the bottleneck."""
    import numpy as np

    data, hidden = np.array(question.data, dtype=object), question.mask
    moment = data @ data.T / len(question.data[0])
    m, seen = len(moment), 1 - hidden
    own = moment * np.eye(m, dtype=object)
    yield Step(
        says=f"An entry is seen with probability {seen}, two different ones together with its square. So the "
        "input's own moment keeps more of its diagonal than of the rest; common factors cancel.",
        formula=rf"S = {matrix(moment.tolist())}, \quad \mathbb{{E}}[x \tilde x^T] = {number(seen)} S, \quad "
        rf"\mathbb{{E}}[\tilde x \tilde x^T] = {number(seen)} "
        rf"\left( {number(seen)} S + {number(hidden)} \, \mathrm{{diag}}(S) \right)",
        value=moment,
    )
    full = _solved(moment, seen * moment + hidden * own)
    yield Step(
        says="The normal equations give the best map without a bottleneck. It is not the identity: its off-diagonal "
        f"entries reach {float(abs(full - full * np.eye(m, dtype=object)).max()):.4g} and fill a hidden feature from "
        "those it correlates with.",
        formula=rf"W = S \left( {number(seen)} S + {number(hidden)} \, \mathrm{{diag}}(S) \right)^{{-1}}"
        rf" = {matrix(full.tolist())}",
        value=full,
        figure=Heatmap(
            title="The map: row = feature rebuilt, column = feature read",
            values=tuple(tuple(float(value) for value in line) for line in full),
        ),
    )
    ends, axes = _bottlenecks(moment, seen * full @ moment)
    k = question.latent or m
    best, minimum = full, (moment - seen * full @ moment).trace()
    if k < m:
        best, minimum = axes[:, :k] @ axes[:, :k].T @ full.astype(float), ends[k]
    yield _repaired(k, minimum, moment, question.mask)
    yield _axes_step(moment, ends, axes)
    yield Answer(fields={"map": best.tolist(), "minimum": minimum})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """All masks enumerated, masks drawn at random, and the error of copying."""
    import torch

    fitted_mm, error = _enumerated(question)
    masks = 2 ** len(question.data)
    yield agree("map", f"weighted least squares over all {masks} masks", answer["map"], fitted_mm, 1e-8)
    yield agree("minimum", f"expected error over all {masks} masks", answer["minimum"], error, 1e-8)
    claimed_mm = torch.tensor([[float(value) for value in line] for line in answer["map"]], dtype=torch.float64)
    data_mn = tensor(question.data)
    draws_mp = data_mn.repeat(1, -(-DRAWS // data_mn.shape[1]))
    generator = torch.Generator().manual_seed(0)
    seen_mp = torch.rand(draws_mp.shape, generator=generator, dtype=torch.float64) >= float(question.mask)
    errors_p = (draws_mp - claimed_mm @ (draws_mp * seen_mp)).square().sum(0)
    # every sample is drawn equally often, so only the spread within a sample is chance
    spread = errors_p.view(-1, data_mn.shape[1]).var(0).mean().sqrt().item() / len(errors_p) ** 0.5
    yield within("minimum", f"{len(errors_p)} draws", float(answer["minimum"]), errors_p.mean().item(), spread)
    if question.latent in (None, len(data_mn)):
        copying = (data_mn.square().sum() / data_mn.shape[1]).item() * float(question.mask)
        detail = f"{copying:.6g} against {float(answer['minimum']):.6g}"
        yield holds("copying is no better", "its own error", float(answer["minimum"]) <= copying * (1 + 1e-12), detail)


def _repaired(k: int, minimum: Any, moment: Any, mask: Fraction) -> Step:
    lone = mask * moment.trace()
    return Step(
        says=f"The least expected error with latent {k} is {float(minimum):.6g} of a total variance of "
        f"{float(moment.trace()):.6g}. Copying what is seen, without a bottleneck, would cost {float(lone):.6g}: what "
        "is below that the correlations repair.",
        formula=rf"\min = \mathrm{{tr}} S - {number(1 - mask)} \, \mathrm{{tr}}(W S) = {number(minimum)}"
        if k == len(moment)
        else rf"\min = \mathrm{{tr}} S - \sum_{{i \le {k}}} \mu_i = {number(minimum)}",
        value=minimum,
    )


def _axes_step(moment: Any, ends: list[float], axes: Any) -> Step:
    return Step(
        says="Behind a bottleneck the map projects onto the leading eigenvectors of (1 - p) W S, not of S: masking "
        "knows the coordinates, noise does not. The least errors for latent sizes 0, 1, ... are "
        f"{', '.join(f'{end:.6g}' for end in ends)}; the leading axis has cosine "
        f"{_cosine(moment, axes):.4g} with the first principal component.",
        formula=rf"\min_k = {row(ends)}",
        value=ends,
    )


def _solved(left: Any, right: Any) -> Any:
    """left right^{-1} for symmetric right, exact."""
    import numpy as np
    import sympy

    solved = sympy.Matrix(right.tolist()).LUsolve(sympy.Matrix(left.T.tolist())).T
    return np.array(
        [[Fraction(int(value.p), int(value.q)) for value in line] for line in solved.tolist()], dtype=object
    )


def _bottlenecks(moment: Any, explained: Any) -> tuple[list[float], Any]:
    """The least error of every latent size from 0 on, and the axes in the order in which they are kept."""
    import numpy as np

    gains, axes = np.linalg.eigh(((explained + explained.T) / 2).astype(float))
    total = float(moment.trace())
    return [total - float(gains[::-1][:k].sum()) for k in range(len(gains) + 1)], axes[:, ::-1]


def _refuse_tie(question: Question, latent: int) -> None:
    """A bottleneck between two equally good axes would leave the map undetermined."""
    import numpy as np

    data = np.array(question.data, dtype=float)
    moment, hidden = data @ data.T / data.shape[1], float(question.mask)
    full = np.linalg.solve((1 - hidden) * moment + hidden * np.diag(np.diag(moment)), moment).T
    ends, _ = _bottlenecks(moment, (1 - hidden) * full @ moment)
    gains = -np.diff(ends)
    if not gains[latent - 1] - gains[latent] > 1e-9 * gains[0]:
        raise ValueError(
            f"latent is {latent}, but axes {latent} and {latent + 1} gain the same, {gains[latent]:.6g}: "
            "the best map is not unique; choose another latent"
        )


def _cosine(moment: Any, axes: Any) -> float:
    import numpy as np

    return float(abs(np.linalg.eigh(moment.astype(float))[1][:, -1] @ axes[:, 0]))


@lru_cache(maxsize=8)
def _enumerated(question: Question) -> tuple["Tensor", float]:
    """The best map of the given rank and its expected error, every mask weighted by its probability."""
    import torch

    data_mn, hidden = tensor(question.data), float(question.mask)
    m, samples = data_mn.shape
    masks_mq = torch.tensor(list(product((0.0, 1.0), repeat=m)), dtype=torch.float64).T
    chance_q = (masks_mq * (1 - hidden) + (1 - masks_mq) * hidden).prod(0)
    root_p = (chance_q / samples).sqrt().repeat_interleave(samples)
    clean_mp = data_mn.repeat(1, masks_mq.shape[1]) * root_p
    seen_mp = clean_mp * masks_mq.repeat_interleave(samples, 1)
    map_mm = torch.linalg.lstsq(seen_mp.T, clean_mp.T).solution.T
    axes_mk = torch.linalg.svd(map_mm @ seen_mp, full_matrices=False).U[:, : question.latent or m]
    map_mm = axes_mk @ axes_mk.T @ map_mm
    return map_mm, (clean_mp - map_mm @ seen_mp).square().sum().item()
