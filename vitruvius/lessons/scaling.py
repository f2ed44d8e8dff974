r"""Why attention divides by the root of the dimension: mean and variance of a dot product.

$q, k \sim \mathcal N(\mu, \sigma^2 I)$ in $\mathbb R^d$, independent: $E[q^T k] = \mu^T \mu$ and
$\mathrm{Var}[q^T k] = 2 \sigma^2 \mu^T \mu + d \sigma^4$; dividing by the root of the variance makes it 1.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from random import Random
from typing import Annotated, Any

import numpy as np
import sympy
from pydantic import Field, model_validator

from vitruvius import lessons
from vitruvius.lessons import Answer, Attempt, Board, Exact, Proof, Step, Vector, exact
from vitruvius.lessons._board import dot
from vitruvius.lessons._draws import whole
from vitruvius.lessons._exact import root, surd
from vitruvius.lessons._figures import curves
from vitruvius.lessons._proofs import agree, within
from vitruvius.lessons._tensors import Array, softmax

SUBJECT = "attention"
TASK = (
    "The product of a query and a key in <dim> dimensions, whose entries are independent and normal "
    "with the given mean and standard deviation sigma = <sigma>. Work out its expectation, its "
    "variance, and the number to divide by so that the variance becomes 1."
)
LARGEST = 4096
KEYS, DRAWS, DIMS = 16, 200, (1, 4, 16, 64, 256, 1024)
"""The demonstration: softmax over this many keys, this often, in these dimensions."""
WHY = {
    "largest weight": "Large scores make softmax choose: without scaling one key takes nearly everything",
    "gradient": "A choice has no slope: the derivative of the weights with respect to the scores, diag(w) - "
    "ww', "
    "dies out; its size here is the Frobenius norm",
}
ONLY_THEN = " (it leaves 1 for mean 0 and deviation 1 only)"
SHARED = (
    " Of the part from the mean, <shared> is the same for all keys of a query, and softmax does not see it."
)


class Question(lessons.Question):
    """Queries and keys whose entries are normal; the default is the standard normal of 64 dimensions."""

    mean: Exact | Vector = exact(0)
    """One number for all entries, or one per entry."""
    sigma: Exact = exact(1)
    """Standard deviation of each entry."""
    dim: Annotated[int, Field(ge=1, le=LARGEST)] = 64

    @model_validator(mode="before")
    @classmethod
    def _dim_of_the_mean(cls, given: Any) -> Any:
        if isinstance(given, dict) and isinstance(given.get("mean"), list | tuple) and "dim" not in given:
            return {**given, "dim": len(given["mean"])}
        return given

    def refuse(self) -> None:
        if isinstance(self.mean, tuple) and len(self.mean) != self.dim:
            needs = f"it needs one number or {self.dim}, as dim says"
            raise ValueError(f"mean has {len(self.mean)} entries: {needs}")
        if self.sigma <= 0:
            raise ValueError(f"sigma is {self.sigma}: it needs a number above 0")
        if (largest := max(map(abs, self.means))) > (most := 1000 * self.sigma):
            raise ValueError(f"mean has {largest}: it needs at most 1000 sigma, {most}")

    @property
    def means(self) -> Vector:
        """The mean of each entry."""
        return self.mean if isinstance(self.mean, tuple) else (self.mean,) * self.dim


def solve(question: Question) -> Iterator[Step | Answer]:
    """One entry by symbols, the sum over the entries, the divisor, and what softmax does without it."""
    dim, sigma, (mu, s) = question.dim, question.sigma, sympy.symbols("mu sigma")
    square = sum((mean**2 for mean in question.means), Fraction(0))
    second = mu**2 + s**2  # E[x^2] of a normal variable
    board = Board(dim=dim, expectation=square, sigma2=sigma**2, sigma4=sigma**4, second=sympy.latex(second))
    board["squares"] = dot(question.means, question.means)
    yield board.step(
        "The product is a sum of <dim> terms. Query and key are independent, so the mean of each term is the "
        "product of the means, and the means add up to <expectation>.",
        r"E[q^T k] = \sum_i E[q_i]\,E[k_i] = \mu^T \mu = <squares> = <expectation>",
    )
    board |= {"own": square + dim * sigma**2, "own_variance": 4 * sigma**2 * square + 2 * dim * sigma**4}
    yield board.step(
        "Independence is needed. If a token looks at itself through one map for both (q = k), every term is "
        "a square: the mean is <own>, and the variance just twice as large, <own_variance>.",
        r"E[q^T q] = \mu^T \mu + d \sigma^2 = <own>, \quad "
        r"\mathrm{Var}[q^T q] = 4 \sigma^2 \mu^T \mu + 2 d \sigma^4 = <own_variance>",
        "own own_variance",
    )
    board["of_product"] = sympy.latex(sympy.expand(second**2 - mu**4))
    yield board.step(
        "A term's second moment is the product of the second moments, mean squared plus variance each; take "
        "off the squared mean. With mean 0 only the last part is left, here <sigma4>.",
        r"\mathrm{Var}[q_i k_i] = \left(<second>\right)^2 - \mu^4 = <of_product>",
        "sigma4",
    )
    yield board.step(
        "The same for all <dim> entries at once: a number is its own trace, and a trace does not change when "
        "its factors are turned round in a circle. So the second moment is the trace of the product of the "
        "two matrices of second moments, since query and key are independent.",
        r"E[(q^T k)^2] = E[\mathrm{tr}(q^T k k^T q)] = E[\mathrm{tr}(k k^T q q^T)] = \mathrm{tr}(E[k k^T] "
        r"\, E[q q^T]), \qquad E[q q^T] = \mu \mu^T + \sigma^2 I",
    )
    board["variance"] = variance = 2 * sigma**2 * square + dim * sigma**4
    yield board.step(
        "Terms of different entries are independent, so <dim> variances add up. Multiplied out, the trace "
        "gives the same. It grows with the dimension, not with its square, as is sometimes written.",
        r"\mathrm{Var}[q^T k] = \mathrm{tr}\left((\mu\mu^T + \sigma^2 I)^2\right) - (\mu^T\mu)^2 = 2\sigma^2 "
        r"\mu^T\mu + d\sigma^4 = 2 \cdot <sigma2> \cdot <expectation> + <dim> \cdot <sigma4> = <variance>",
    )
    board |= {"scale": root(variance), "surd": surd(variance), "shared": square * sigma**2}
    board |= {"over_d": variance / dim, "over_d2": variance / dim**2}
    yield board.step(
        "Dividing the product by s divides its variance by s squared, so s = <scale:.6g>, the root of the "
        "variance, makes it 1. Dividing the product by the root of d, as attention does, divides the "
        "variance by d and leaves <over_d:.6g>" + (ONLY_THEN if board["over_d"] != 1 else "") + "; dividing "
        "by d itself would leave <over_d2:.6g>." + (SHARED if board["shared"] else ""),
        r"s = \sqrt{<variance>} = <surd>"
        + ("" if isinstance(board["scale"], Fraction) else r" \approx <scale:.6g>"),
        "scale",
    )
    yield from _saturation(float(sigma))
    yield Answer(fields=board.pick("expectation variance scale"))


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """Gauss-Hermite quadrature of one term, exact for polynomials, and a simulation of the whole product."""
    moments = (_moments(mean, question.sigma) for mean in question.means)
    expectation, variance = map(sum, zip(*moments, strict=True))
    root_of = math.sqrt(variance)
    found = {"expectation": expectation / root_of, "variance": variance, "scale": root_of}
    # rounding is as the deviation
    claimed = answer.fields | {"expectation": float(answer["expectation"]) / root_of}
    yield agree("expectation, variance and scale", "Gauss-Hermite quadrature", claimed, found)
    rng, draws = np.random.default_rng(0), max(2_000_000 // question.dim, 500)
    means, sigma = np.array(question.means, float), float(question.sigma)
    q, k = (means + sigma * rng.standard_normal((draws, question.dim)) for _ in range(2))
    product = (q * k).sum(1)
    for name, samples in (("expectation", product), ("variance", (product - product.mean()) ** 2)):
        method, error = f"{draws} simulated products", float(samples.std()) / draws**0.5
        yield within(name, method, float(answer[name]), float(samples.mean()), error)


def attempt(question: Question, write: Attempt) -> None:
    """Expectation, variance, divisor."""
    sigma, dim = float(question.sigma), question.dim
    square = sum(float(mean) ** 2 for mean in question.means)
    expectation = write(
        "expectation",
        square,
        "expectation of the product",
        "What is the mean of a product of independent numbers, and how many are added?",
        r"E[q^T k] = \mu^T \mu",
        second_moment=("the second moment of an entry is added up", square + dim * sigma**2),
        one_entry=("one entry only is counted", float(question.means[0]) ** 2),
    )
    variance = write(
        "variance",
        2 * sigma**2 * expectation + dim * sigma**4,
        "variance of the product",
        "What is the variance of one term, and how do variances of independent terms add up?",
        r"\mathrm{Var}[q^T k] = 2 \sigma^2 \mu^T \mu + d \sigma^4",
        d_squared=("d^2 is taken for d", 2 * sigma**2 * expectation + dim**2 * sigma**4),
        no_mean=("the part of the mean is forgotten", dim * sigma**4),
        one_mean=("the part of the mean is counted once", sigma**2 * expectation + dim * sigma**4),
    )
    write(
        "scale",
        variance**0.5,
        "divisor that makes the variance 1",
        "What does dividing by s do to a variance?",
        r"s = \sqrt{\mathrm{Var}[q^T k]}",
        by_variance=("the variance is divided by, not its root", variance),
        root_of_d=("the root of d is taken, which fits mean 0 and deviation 1 only", dim**0.5),
    )


def draw(random: Random) -> dict[str, Any]:
    """Two to four dimensions with whole means."""
    mean = whole(random, -3, 4, random.randint(2, 4))
    return {"mean": mean, "sigma": random.choice((1, 2, 3, "1/2", "3/2"))}


def _saturation(sigma: float) -> Iterator[Step]:
    """Largest weight and gradient of softmax against the dimension, with and without the divisor."""
    rng = np.random.default_rng(0)
    found: dict[str, dict[str, list[float]]] = {
        name: {"without scaling": [], "with scaling": []} for name in WHY
    }
    for dim in DIMS:
        q, k = sigma * rng.standard_normal((DRAWS, 1, dim)), sigma * rng.standard_normal((DRAWS, KEYS, dim))
        for name, divisor in (("without scaling", 1.0), ("with scaling", sigma**2 * dim**0.5)):
            weight_BM = softmax((q * k).sum(-1) / divisor)
            found["largest weight"][name].append(float(weight_BM.max(1).mean()))
            found["gradient"][name].append(float(_jacobian_norm(weight_BM).mean()))
    for quantity, curve in found.items():
        plain, scaled = (values[-1] for values in curve.values())
        board = Board(why=WHY[quantity], quantity=quantity, dim=DIMS[-1], plain=plain, scaled=scaled)
        yield board.step(
            f"<why>. Over {KEYS} keys of mean 0, averaged over {DRAWS} draws, the <quantity> at dimension "
            "<dim> is <plain:.4g> without scaling and <scaled:.4g> with it (scores divided by sigma^2 times "
            "the root of d, their deviation for mean 0).",
            value=curve,
            figure=curves(f"Softmax over {KEYS} keys", curve, DIMS, ("dimension", quantity), log="x"),
        )


def _jacobian_norm(weight_BM: Array) -> Array:
    r"""Frobenius norm of $\mathrm{diag}(w) - w w^T$, the derivative of softmax."""
    square = (weight_BM**2).sum(1)
    return np.sqrt(np.maximum(square - 2 * (weight_BM**3).sum(1) + square**2, 0.0))


def _moments(mean: Fraction, sigma: Fraction) -> tuple[float, float]:
    """Mean and variance of the product of two such normal variables, by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(4)
    weights, x = weights / weights.sum(), float(mean) + float(sigma) * nodes
    expected = weights @ np.outer(x, x) @ weights
    return expected, weights @ (np.outer(x, x) - expected) ** 2 @ weights
