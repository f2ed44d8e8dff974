r"""Kernel attention: one similarity, three routes to the same output, and the length from which features pay.

$o_i = \sum_j \kappa(q_i, k_j) v_j / \sum_j \kappa(q_i, k_j)$ with $\kappa(q, k) = \phi(q) \cdot \phi(k)$ (Tsai et al.
2019, Katharopoulos et al. 2020). Shapes: N queries, M keys, D width of queries and keys, C features, E value width.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from math import isqrt, sqrt
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from vitruvius import lessons
from vitruvius.core.blocks import Heatmap
from vitruvius.lessons import Answer, Matrix, Proof, Step, Vector, _shapes, _tensors, exact
from vitruvius.lessons._board import matrix, number
from vitruvius.lessons._exact import worth
from vitruvius.lessons._figures import curves
from vitruvius.lessons._proofs import agree, holds
from vitruvius.lessons._tensors import attend, tensor

if TYPE_CHECKING:
    from torch import Tensor

SUBJECT = "attention"
SIMILARITIES = {"quadratic": r"(q \cdot k + 1)^2", "linear": r"\phi(q) \cdot \phi(k)"}
MAPS = {
    "quadratic": r"(1, \sqrt{2} x_1, \dots, x_1^2, \dots, \sqrt{2} x_1 x_2, \dots)",
    "linear": r"\mathrm{elu}(x) + 1",
}


class Question(lessons.Question):
    """Queries, keys and values, one per row, a kernel, and the size for which the cost is counted."""

    q: Matrix = exact(((1, 0), (0, 1), (1, -1)))
    k: Matrix = exact(((1, 1), (0, -1), (2, 0)))
    v: Matrix = exact(((1, 0), (0, 1), (2, 2)))
    kernel: Literal["quadratic", "linear"] = "quadratic"
    tokens: int = Field(4096, ge=1, le=1_000_000)
    """N = M of the cost."""
    dim: int = Field(64, ge=1, le=256)
    """D = E of the cost."""

    @model_validator(mode="after")
    def _fits(self) -> "Question":
        _shapes.attended(self, ("q", "k", "v"), most=16)
        return self


def solve(question: Question) -> Iterator[Step | Answer]:
    """When the fraction exists, the similarity, the features, the three routes, and what each costs."""
    import sympy

    q, k, v = (np.array(rows, dtype=object) for rows in (question.q, question.k, question.v))
    phi_q, phi_k = (np.array([_features(question.kernel, x) for x in rows]) for rows in (question.q, question.k))
    phi = {name: np.frompyfunc(worth, 1, 1)(rows) for name, rows in (("q", phi_q), ("k", phi_k))}
    similarity = (q @ k.T + 1) ** 2 if question.kernel == "quadratic" else phi["q"] @ phi["k"].T
    yield _condition()
    yield Step(
        says=f"Every query with every key: {similarity.size} similarities, the smallest {float(similarity.min()):.4g}.",
        formula=rf"\kappa(q, k) = {SIMILARITIES[question.kernel]}: \quad {matrix(similarity.tolist())}",
        value=similarity,
        figure=Heatmap(title="Similarity: query down, key across", values=tuple(map(tuple, similarity.astype(float)))),
    )
    yield Step(
        says=f"The same similarity is an inner product of {phi_q.shape[1]} features, made of the {q.shape[1]} entries.",
        formula=rf"\phi(x) = {MAPS[question.kernel]}: \quad "
        rf"\phi(Q) = {matrix([[sympy.latex(x) for x in row] for row in phi_q])}",
        value=phi,
    )
    output = _means(similarity, v)
    yield from _routes(similarity, phi["k"], v, output)
    costs = _costs(question)
    yield from _cost_steps(question, costs)
    features = {name: rows.tolist() for name, rows in phi.items()}
    yield Answer(fields={"similarity": similarity.tolist(), "features": features, "output": output, **costs})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """The product's kernels, the features multiplied out, and counts taken by torch on tensors without data."""
    import torch
    from torch.nn import functional

    q, k, v = (tensor(rows) for rows in (question.q, question.k, question.v))
    phi = {name: tensor(rows) for name, rows in answer["features"].items()}
    name = f"kernel '{question.kernel}'"
    yield agree("similarity", "features multiplied out", answer["similarity"], phi["q"] @ phi["k"].T)
    if question.kernel == "linear":
        way, again = "torch's elu", {"q": functional.elu(q) + 1, "k": functional.elu(k) + 1}
    else:
        way, again = "(1, x)(1, x)' folded", {"q": _folded(q), "k": _folded(k)}
    yield agree("features", way, answer["features"], again)
    yield agree("output over pairs", name, answer["output"], attend(question.kernel, q, k, v))
    # the state after each key, (M, C, E + 1)
    states = (phi["k"][:, :, None] * functional.pad(v, (0, 1), value=1.0)[:, None]).cumsum(0)
    yield agree("output by features", "the last state, read by all", answer["output"], _read(phi["q"] @ states[-1]))
    if len(q) == len(k):
        masked = attend(question.kernel, q, k, v, mask="causal")
        running = _read(torch.einsum("nc,nce->ne", phi["q"], states))
        yield agree("causal route", f"{name} under a causal mask", running, masked)
    found = _counted(question.kernel, question.tokens, question.dim)
    yield agree("multiply-adds", "torch's flop counter", answer["multiply_adds"], found["multiply_adds"])
    yield agree("kept", "what autograd saves of tensors without data", answer["kept"], found["kept"])
    for field, length in answer["crossovers"].items():
        yield _crossing(question, field, length)


def _condition() -> Step:
    near = 7 - 5 * sqrt(2)
    return Step(
        says="The fraction exists if the similarities of a query never add up to 0. A single key already asks that "
        "none is 0; if sim is continuous in the key, it then has one sign per query (another query may have the other: "
        "it cancels). 'The same sign' alone is the common mistake: (q.k + 1)^2 never changes sign and is 0 where "
        "q.k = -1, and without continuity mixed signs can be safe: similarities 1 and -sqrt(2) never cancel, though "
        f"7 and 5 of them leave {near:.4f}. What one wants is sim > 0: outputs are then averages of the values.",
        formula=rf"\sum_j \kappa(q_i, k_j) \ne 0, \quad 7 - 5 \sqrt{{2}} = {number(near)}",
        value=near,
    )


def _features(kernel: str, x: Vector) -> list[Any]:
    """1, sqrt 2 x_a, x_a^2, sqrt 2 x_a x_b with a < b; or elu(x) + 1: symbolic."""
    from sympy import Integer, Rational, exp, sqrt

    terms = [Rational(a.numerator, a.denominator) for a in x]
    if kernel == "linear":
        return [a + 1 if a >= 0 else exp(a) for a in terms]
    pairs = [sqrt(2) * a * b for a, b in combinations(terms, 2)]
    return [Integer(1), *(sqrt(2) * a for a in terms), *(a * a for a in terms), *pairs]


def _means(similarity: Any, v: Any) -> list[list[Any]]:
    """The values weighted by each row; a row without weight gives 0, as in the product's kernels."""
    rows = zip(similarity, similarity.sum(1), strict=True)
    return [(row @ v / total if total else 0 * v[0]).tolist() for row, total in rows]


def _routes(similarity: Any, phi_k: Any, v: Any, output: list[list[Any]]) -> Iterator[Step]:
    yield Step(
        says="First route, over all pairs: the values weighted by the similarities, over their sum. "
        f"{sum(not total for total in similarity.sum(1))} of the {len(similarity)} sums are 0 (such a row gets 0).",
        formula=rf"o_i = \frac{{\sum_j \kappa_{{ij}} v_j}}{{\sum_j \kappa_{{ij}}}}: \quad {matrix(output)}",
        value=output,
    )
    state = phi_k.T @ np.concatenate([v, np.ones((len(v), 1), dtype=object)], 1)
    yield Step(
        says="Second route: the sums over keys do not know the query. U and z are formed once, "
        f"{state.shape[0]} x {state.shape[1]} numbers together, and every query reads its output from them.",
        formula=r"o_i = \frac{\phi(q_i)^T U}{\phi(q_i)^T z}, \quad [U, z] = \sum_j \phi(k_j) [v_j^T, 1] = "
        + matrix(state),
        value=state,
    )
    if len(similarity) == len(v):
        causal = _means(np.tril(similarity), v)
        yield Step(
            says="Third route, causal: U and z grow key by key, and query i reads them after key i. The last query has "
            f"seen all {len(v)} keys: its row is that of the other routes.",
            formula=rf"O_{{\mathrm{{causal}}}} = {matrix(causal)}",
            value=causal,
        )


def _width(kernel: str, d: int) -> int:
    return (d + 1) * (d + 2) // 2 if kernel == "quadratic" else d


def _costs(question: Question) -> dict[str, dict[str, int]]:
    """Multiply-adds of the matrix products, numbers kept for the backward pass, and the N from which features win."""
    n, d, c = question.tokens, question.dim, _width(question.kernel, question.dim)
    b = 2 * c - d + 2
    return {
        "multiply_adds": {"softmax": 2 * n * n * d, "features": 2 * n * c * (d + 1)},
        "kept": {"softmax": n * n + 3 * n * d, "features": n * (2 * c + 2 * d + 2) + c * (d + 1)},
        "crossovers": {
            "multiply_adds": c * (d + 1) // d + 1,
            "kept": (b + isqrt(b * b + 4 * c * (d + 1))) // 2 + 1,  # past the root of N^2 = b N + C (D + 1)
        },
    }


def _cost_steps(question: Question, costs: dict[str, dict[str, int]]) -> Iterator[Step]:
    n, d, where = question.tokens, question.dim, costs["crossovers"]
    c, lengths = _width(question.kernel, d), tuple(2.0**power for power in range(4, 19))
    counts = {"softmax": [2 * x * x * d for x in lengths], "features": [2 * x * c * (d + 1) for x in lengths]}
    yield Step(
        says=f"Time at D = E = {d} and N = {n}, in multiply-adds: softmax pays N^2 for every entry of query and value, "
        f"the features N for each of C = {c} features and value entries, so they win from N = "
        f"{where['multiply_adds']} on, which is {where['multiply_adds'] / d**2:.2g} D^2. (The loop that only adds up "
        "exponentials costs N^2, not N^2 D.)",
        formula=rf"N^2 (D + E) = {costs['multiply_adds']['softmax']}, \quad "
        rf"2 N C (E + 1) = {costs['multiply_adds']['features']}",
        value=costs["multiply_adds"],
        figure=curves(f"Multiply-adds at width {d}", counts, lengths, ("N", "multiply-adds"), log="xy"),
    )
    yield Step(
        says="Memory, in numbers kept for the backward pass: softmax keeps its N^2 weights. To count only Q, K, V and "
        f"U for the features is the common mistake: autograd also keeps phi(Q) and phi(K), 2NC = {2 * n * c} numbers, "
        f"so memory falls below softmax only from N = {where['kept']} on. O(ND + D^3) needs features that are computed "
        f"again in the backward pass: {n * (4 * d + 2) + c * (d + 1)} numbers here.",
        formula=rf"N^2 + 3ND = {costs['kept']['softmax']}, \quad "
        rf"N(2C + 2D + 2) + C(D + 1) = {costs['kept']['features']}",
        value=costs["kept"],
    )


def _read(sums_NE: "Tensor") -> "Tensor":
    """Sums over their last column; 0 where that is nothing but rounding."""
    return sums_NE[:, :-1] / sums_NE[:, -1:].where(sums_NE[:, -1:] > 1e-12, float("inf"))


def _folded(x_ND: "Tensor") -> "Tensor":
    """The upper triangle of (1, x)(1, x)', off-diagonal entries times sqrt 2, in the order 1, x, squares, pairs."""
    import torch

    y = torch.nn.functional.pad(x_ND, (1, 0), value=1.0)
    outer = y[:, :, None] * y[:, None, :]
    i, j = torch.triu_indices(x_ND.shape[1], x_ND.shape[1], offset=1) + 1
    squares = outer.diagonal(dim1=1, dim2=2)
    return torch.cat([squares[:, :1], outer[:, 0, 1:] * 2**0.5, squares[:, 1:], outer[:, i, j] * 2**0.5], 1)


@lru_cache(maxsize=64)
def _counted(kernel: str, n: int, d: int) -> dict[str, dict[str, int]]:
    """What torch's own counters say of both routes, on tensors that have shapes but no data."""
    import torch

    c = _width(kernel, d)

    def leaf(columns: int) -> "Tensor":
        return torch.empty(n, columns, device="meta", requires_grad=True)

    def features() -> "Tensor":
        sums = leaf(c) @ (leaf(c).T @ leaf(d + 1))
        return sums[:, :-1] / sums[:, -1:]

    routes = {"softmax": lambda: ((leaf(d) @ leaf(d).T) * d**-0.5).softmax(-1) @ leaf(d), "features": features}
    counters = {"multiply_adds": _tensors.multiply_adds, "kept": _tensors.kept}
    return {field: {name: count(route) for name, route in routes.items()} for field, count in counters.items()}


def _crossing(question: Question, field: str, length: Any) -> Proof:
    """Whether the counters say so at this length and not yet at the one before."""
    now, before = (_counted(question.kernel, int(length) - back, question.dim)[field] for back in (0, 1))
    detail = f"at {length}: {now['features']} against {now['softmax']}, one before: {before['features']} against "
    passed = now["features"] < now["softmax"] and before["features"] >= before["softmax"] and length == int(length)
    return holds(f"crossover of {field}", "the same counters on both sides", passed, f"{detail}{before['softmax']}")
