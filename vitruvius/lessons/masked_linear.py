r"""A linear masked autoencoder in closed form: features repair each other through their correlations.

$\min_W \mathbb{E} \lVert x - W (b \odot x) \rVert^2$, where each entry of b is 0 with probability p,
otherwise 1 (no rescaling, loss over all entries), and $W = W_2 W_1$ has rank at most k. Shapes: m features, n
samples (the columns of X), k latent, p points (a sample under a mask), q masks."""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import product
from random import Random
from typing import Annotated, Any

import numpy as np
import sympy
import torch
from pydantic import Field
from torch import Tensor

from vitruvius import lessons
from vitruvius.lessons import Answer, Attempt, Board, Exact, Matrix, Proof, Step, exact
from vitruvius.lessons._attempt import write_second_moment
from vitruvius.lessons._draws import principal
from vitruvius.lessons._exact import worth
from vitruvius.lessons._figures import heatmap
from vitruvius.lessons._proofs import agree, holds, within
from vitruvius.lessons._tensors import Array, arrays, tensor, tensors

SUBJECT = "autoencoders"
TASK = (
    "A linear autoencoder fills in hidden entries: every entry of the input is set to 0 with "
    "probability <mask>, without rescaling; there is no bottleneck, and the columns of data are the "
    "samples. Work out the second moment S, the best map W, and the least expected error over all "
    "entries."
)
DRAWS = 40_000


class Question(lessons.Question):
    """Data, the probability that an entry of the input is set to 0, and a latent size."""

    limits = {"m": (1, 10), "n": (1, 200)}
    data: Annotated[Matrix, "m n"] = exact(((6, 6, -10, -2), (9, 3, -1, -11), (3, -9, 5, 1)))
    """X, one sample per column."""
    mask: Exact = Fraction(1, 4)
    latent: int | None = Field(None, ge=1)
    """Default: no bottleneck."""

    def refuse(self) -> None:
        m, k, hidden = self.sizes["m"], self.latent, float(self.mask)
        if not all(any(row) for row in self.data):
            needs = "it needs rows with a variance: a constant 0 cannot be masked"
            raise ValueError(f"data has a row of zeros, {needs}")
        if k is not None and k > m:
            raise ValueError(f"latent is {k}, it must be at most the {m} features of data")
        if not Fraction(1, 1000) <= self.mask <= Fraction(999, 1000):
            raise ValueError(f"mask is {self.mask}, it must be a probability from 1/1000 to 999/1000")
        if k is None or k == m:
            return
        data_mn = np.array(self.data, float)
        moment_mm = data_mn @ data_mn.T / data_mn.shape[1]
        seen_mm = (1 - hidden) * moment_mm + hidden * np.diag(np.diag(moment_mm))
        gains_m, _ = _gains((1 - hidden) * np.linalg.solve(seen_mm, moment_mm).T @ moment_mm)
        if not gains_m[k - 1] - gains_m[k] > 1e-9 * gains_m[0]:
            same = f"axes {k} and {k + 1} gain the same, {gains_m[k]:.6g}"
            raise ValueError(f"latent is {k}, but {same}: the best map is not unique; choose another latent")


def solve(question: Question) -> Iterator[Step | Answer]:
    """The moments under masking, the normal equations, what a masked entry is filled with, the bottleneck."""
    m, hidden, seen = len(question.data), question.mask, 1 - question.mask
    data_mn = np.array(question.data, object)
    moment_mm, identity_mm = data_mn @ data_mn.T / data_mn.shape[1], np.eye(m, dtype=object)
    board = Board(k=question.latent or m, moment=moment_mm, hidden=hidden, seen=seen)
    yield board.step(
        "An entry is seen with probability <seen>, two different ones together with its square. So the "
        "input's own moment keeps more of its diagonal than of the rest; common factors cancel.",
        r"S = <moment>, \quad \mathbb{E}[x \tilde x^T] = <seen> S, \quad \mathbb{E}[\tilde x \tilde x^T] = "
        r"<seen> \left( <seen> S + <hidden> \, \mathrm{diag}(S) \right)",
        "moment",
    )
    seen_mm = sympy.Matrix(seen * moment_mm + hidden * moment_mm * identity_mm)
    full_mm = np.vectorize(worth, otypes=[object])(seen_mm.LUsolve(sympy.Matrix(moment_mm)).T)
    board |= {"full": full_mm, "largest": abs(full_mm - full_mm * identity_mm).max()}
    yield board.step(
        "The normal equations give the best map without a bottleneck. It is not the identity: its "
        "off-diagonal entries reach <largest:.4g> and fill a hidden feature from those it correlates with.",
        r"W = S \left( <seen> S + <hidden> \, \mathrm{diag}(S) \right)^{-1} = <full>",
        figure=heatmap("The map: row = feature rebuilt, column = feature read", full_mm, (), ()),
    )
    yield from _bottleneck(board)
    yield Answer(fields=board.pick("map minimum"))


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """All masks enumerated, masks drawn at random, and the error of copying."""
    fitted_mm, error = _enumerated(question)
    masks, minimum = 2 ** len(question.data), float(answer["minimum"])
    yield agree("map", f"weighted least squares over all {masks} masks", answer["map"], fitted_mm, 1e-8)
    yield agree("minimum", f"expected error over all {masks} masks", answer["minimum"], error, 1e-8)
    claimed_mm, data_mn = tensors(answer["map"], question.data)
    draws_mp = data_mn.repeat(1, -(-DRAWS // data_mn.shape[1]))
    chance_mp = torch.rand(draws_mp.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    errors_p = (draws_mp - claimed_mm @ (draws_mp * (chance_mp >= float(question.mask)))).square().sum(0)
    # every sample is drawn equally often, so only the spread within a sample is chance
    spread = errors_p.view(-1, data_mn.shape[1]).var(0).mean().sqrt().item() / len(errors_p) ** 0.5
    yield within("minimum", f"{len(errors_p)} draws", minimum, errors_p.mean().item(), spread)
    if question.latent in (None, len(data_mn)):
        copying = (data_mn.square().sum() / data_mn.shape[1]).item() * float(question.mask)
        detail, passed = f"{copying:.6g} against {minimum:.6g}", minimum <= copying * (1 + 1e-12)
        yield holds("copying is no better", "its own error", passed, detail)


def attempt(question: Question, write: Attempt) -> None:
    """The moment, the best map, the least error."""
    (data,), hidden = arrays(question.data), float(question.mask)
    seen = 1 - hidden
    moment = write_second_moment(write, data)

    def best(kept: float) -> Array:
        masked = kept * moment + (1 - kept) * np.diag(np.diag(moment))
        return np.asarray(np.linalg.solve(masked, moment).T)

    full = write(
        "full",
        best(seen),
        "best map",
        "How often are two different entries seen together, and how often one with itself?",
        r"W = S \left( (1 - p) S + p \, \mathrm{diag}(S) \right)^{-1}",
        exchanged=("the probabilities of seeing and hiding are exchanged", best(hidden)),
        no_diagonal=("the diagonal is masked like the rest", np.eye(len(moment)) / seen),
    )
    if question.latent not in (None, len(moment)):
        return
    write(
        "minimum",
        float(np.trace(moment) - seen * np.trace(full @ moment)),
        "least expected error",
        "How much of the variance does the map explain?",
        r"\mathrm{tr} S - (1 - p) \, \mathrm{tr}(W S)",
        copying=("what is hidden is taken to be lost", float(hidden * np.trace(moment))),
        always_seen=("the factor 1 - p is forgotten", float(np.trace(moment - full @ moment))),
    )


def draw(random: Random) -> dict[str, Any]:
    """Data with square eigenvalues, hidden with a short probability."""
    return {"data": principal(random), "mask": random.choice(("1/4", "1/3", "1/5", "2/5", "3/10"))}


def _bottleneck(board: Board) -> Iterator[Step]:
    k, moment_mm, full_mm, seen = (board[name] for name in ("k", "moment", "full", "seen"))
    gains_m, axes_mm = _gains(seen * full_mm @ moment_mm)
    total = moment_mm.trace()
    ends = [float(total) - float(gains_m[:kept].sum()) for kept in range(len(gains_m) + 1)]
    principal_m = np.linalg.eigh(moment_mm.astype(float))[1][:, -1]
    board |= {"total": total, "lone": board["hidden"] * total, "ends": ends}
    board |= {"cosine": abs(principal_m @ axes_mm[:, 0])}
    if k < len(gains_m):
        fewer_mm = axes_mm[:, :k] @ axes_mm[:, :k].T @ full_mm.astype(float)
        board |= {"map": fewer_mm, "minimum": ends[k]}
        gain = r"\sum_{i \le <k>} \mu_i"
    else:
        board |= {"map": full_mm, "minimum": (moment_mm - seen * full_mm @ moment_mm).trace()}
        gain = r"<seen> \, \mathrm{tr}(W S)"
    yield board.step(
        "The least expected error with latent <k> is <minimum:.6g> of a total variance of <total:.6g>. "
        "Copying what is seen, without a bottleneck, would cost <lone:.6g>: what is below that the "
        "correlations repair.",
        rf"\min = \mathrm{{tr}} S - {gain} = <minimum>",
    )
    yield board.step(
        "Behind a bottleneck the map projects onto the leading eigenvectors of (1 - p) W S, not of S: "
        "masking knows the coordinates, noise does not. The least errors for latent sizes 0, 1, ... are "
        "<ends>; the leading axis has cosine <cosine:.4g> with the first principal component.",
        r"\min_k = <ends>",
    )


def _gains(explained_mm: Array) -> tuple[Array, Array]:
    """What each axis of a bottleneck explains, and the axes, in the order in which they are kept."""
    gains_m, axes_mm = np.linalg.eigh(((explained_mm + explained_mm.T) / 2).astype(float))
    return gains_m[::-1], axes_mm[:, ::-1]


@lru_cache(maxsize=8)
def _enumerated(question: Question) -> tuple[Tensor, float]:
    """The best map of the given rank and its expected error, every mask weighted by its probability."""
    data_mn, hidden = tensor(question.data), float(question.mask)
    m, n = data_mn.shape
    masks_mq = torch.tensor(list(product((0.0, 1.0), repeat=m)), dtype=torch.float64).T
    chance_q = (masks_mq * (1 - hidden) + (1 - masks_mq) * hidden).prod(0)
    clean_mp = data_mn.repeat(1, masks_mq.shape[1]) * (chance_q / n).sqrt().repeat_interleave(n)
    seen_mp = clean_mp * masks_mq.repeat_interleave(n, 1)
    map_mm = torch.linalg.lstsq(seen_mp.T, clean_mp.T).solution.T
    axes_mk = torch.linalg.svd(map_mm @ seen_mp, full_matrices=False).U[:, : question.latent or m]
    map_mm = axes_mk @ axes_mk.T @ map_mm
    return map_mm, (clean_mp - map_mm @ seen_mp).square().sum().item()
