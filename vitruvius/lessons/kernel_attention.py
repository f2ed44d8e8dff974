r"""Kernel attention: one similarity, three routes to the same output, and the length from which features pay.

$o_i = \sum_j \kappa(q_i, k_j) v_j / \sum_j \kappa(q_i, k_j)$ with $\kappa(q, k) = \phi(q) \cdot \phi(k)$
(Tsai et al. 2019, Katharopoulos et al. 2020). Shapes: N queries, M keys, D width of queries and keys, C
features, E value width."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from math import isqrt, sqrt
from random import Random
from typing import Annotated, Any, Literal

import numpy as np
import sympy
import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from vitruvius import lessons
from vitruvius.lessons import Answer, Attempt, Board, Matrix, Proof, Step, Vector, exact
from vitruvius.lessons._board import added, dot
from vitruvius.lessons._draws import whole
from vitruvius.lessons._exact import worth
from vitruvius.lessons._figures import curves, heatmap
from vitruvius.lessons._proofs import agree, holds
from vitruvius.lessons._tensors import Array, arrays, attend, kept, multiply_adds, tensor, tensors

SUBJECT = "attention"
TASK = (
    "Kernel attention with the similarity (q . k + 1)^2. Rows of q, k and v are vectors. Work out the "
    "similarities of every query with every key and the outputs; then, for N = <tokens> tokens of "
    "width D = <dim> (queries, keys and values alike, C = (D + 1)(D + 2)/2 features), the "
    "multiply-adds of softmax attention and of the route over features."
)
SIMILARITIES = {"quadratic": r"(q \cdot k + 1)^2", "linear": r"\phi(q) \cdot \phi(k)"}
MAPS = {
    "quadratic": r"(1, \sqrt{2} x_1, \dots, x_1^2, \dots, \sqrt{2} x_1 x_2, \dots)",
    "linear": r"\mathrm{elu}(x) + 1",
}


class Question(lessons.Question):
    """Queries, keys and values, one per row, a kernel, and the size for which the cost is counted."""

    limits = {"D": (1, 16), "E": (1, 16)}
    q: Annotated[Matrix, "N D"] = exact(((1, 0), (0, 1), (1, -1)))
    k: Annotated[Matrix, "M D"] = exact(((1, 1), (0, -1), (2, 0)))
    v: Annotated[Matrix, "M E"] = exact(((1, 0), (0, 1), (2, 2)))
    kernel: Literal["quadratic", "linear"] = "quadratic"
    tokens: int = Field(4096, ge=1, le=1_000_000)
    """N = M of the cost."""
    dim: int = Field(64, ge=1, le=256)
    """D = E of the cost."""


def solve(question: Question) -> Iterator[Step | Answer]:
    """When the fraction exists, the similarity, the features, the three routes, and what each costs."""
    q, k, v = (np.array(rows, dtype=object) for rows in (question.q, question.k, question.v))
    phi_q, phi_k = ([_features(question.kernel, x) for x in rows] for rows in (question.q, question.k))
    phi = {name: np.frompyfunc(worth, 1, 1)(rows) for name, rows in (("q", phi_q), ("k", phi_k))}
    similarity = (q @ k.T + 1) ** 2 if question.kernel == "quadratic" else phi["q"] @ phi["k"].T
    board = Board(near=7 - 5 * sqrt(2), similarity=similarity, features=phi, least=similarity.min())
    board |= {"pairs": similarity.size, "count": len(phi_q[0]), "entries": q.shape[1]}
    yield board.step(
        "The fraction exists if the similarities of a query never add up to 0. A single key already asks "
        "that none is 0; if sim is continuous in the key, it then has one sign per query (another query may "
        "have the other: it cancels). 'The same sign' alone is the common mistake: (q.k + 1)^2 never changes "
        "sign and is 0 where q.k = -1, and without continuity mixed signs can be safe: similarities 1 and "
        "-sqrt(2) never cancel, though 7 and 5 of them leave <near:.4f>. What one wants is sim > 0: outputs "
        "are then averages of the values.",
        r"\sum_j \kappa(q_i, k_j) \ne 0, \quad 7 - 5 \sqrt{2} = <near>",
    )
    yield board.step(
        "Every query with every key: <pairs> similarities, the smallest <least:.4g>.",
        rf"\kappa(q, k) = {SIMILARITIES[question.kernel]}: \quad <similarity>",
        figure=heatmap("Similarity: query down, key across", similarity, "q", "k"),
    )
    board["phi"] = [[sympy.latex(x) for x in row] for row in phi_q]
    yield board.step(
        "The same similarity is an inner product of <count> features, made of the <entries> entries.",
        rf"\phi(x) = {MAPS[question.kernel]}: \quad \phi(Q) = <phi>",
        "features",
    )
    yield from _routes(board, v)
    yield from _cost_steps(question, board)
    yield Answer(fields=board.pick("similarity features output multiply_adds kept crossovers"))


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """The product's kernels, the features multiplied out, and torch's counts on tensors without data."""
    q, k, v = tensors(question.q, question.k, question.v)
    phi = {name: tensor(rows) for name, rows in answer["features"].items()}
    name, output = f"kernel '{question.kernel}'", answer["output"]
    yield agree("similarity", "features multiplied out", answer["similarity"], phi["q"] @ phi["k"].T)
    if question.kernel == "linear":
        way, again = "torch's elu", {"q": functional.elu(q) + 1, "k": functional.elu(k) + 1}
    else:
        way, again = "(1, x)(1, x)' folded", {"q": _folded(q), "k": _folded(k)}
    yield agree("features", way, answer["features"], again)
    yield agree("output over pairs", name, output, attend(question.kernel, q, k, v))
    # the state after each key, (M, C, E + 1)
    states = (phi["k"][:, :, None] * functional.pad(v, (0, 1), value=1.0)[:, None]).cumsum(0)
    yield agree("output by features", "the last state, read by all", output, _read(phi["q"] @ states[-1]))
    if len(q) == len(k):
        masked = attend(question.kernel, q, k, v, mask="causal")
        running = _read(torch.einsum("nc,nce->ne", phi["q"], states))
        yield agree("causal route", f"{name} under a causal mask", running, masked)
    found = _counted(question.kernel, question.tokens, question.dim)
    yield agree("multiply-adds", "torch's flop counter", answer["multiply_adds"], found["multiply_adds"])
    yield agree("kept", "what autograd saves of tensors without data", answer["kept"], found["kept"])
    for field, length in answer["crossovers"].items():
        yield _crossing(question, field, length)


def attempt(question: Question, write: Attempt) -> None:
    """Similarities, outputs, multiply-adds."""
    q, k, v = arrays(question.q, question.k, question.v)
    if question.kernel == "quadratic":
        right, wrong = (q @ k.T + 1) ** 2, ((q @ k.T) ** 2, q @ k.T + 1)
    else:
        plus = [np.where(x >= 0, x + 1, np.exp(np.minimum(x, 0))) for x in (q, k)]
        right, wrong = plus[0] @ plus[1].T, (q @ k.T, plus[0] @ plus[1].T + 1)
    similarity = write(
        "similarity",
        right,
        "similarities: a row per query, a column per key",
        "What is done to the product of query and key, and in which order?",
        rf"\kappa(q, k) = {SIMILARITIES[question.kernel]}",
        plain=("the 1 is not added", wrong[0]),
        other=("the square is forgotten", wrong[1]),
        exponential=("the exponential of softmax attention is taken", np.exp(q @ k.T)),
    )
    totals = similarity.sum(1, keepdims=True)
    write(
        "output",
        np.divide(similarity @ v, totals, out=np.zeros((len(q), v.shape[1])), where=totals != 0),
        "outputs, a row per query",
        "What are the weighted values divided by?",
        r"o_i = \frac{\sum_j \kappa_{ij} v_j}{\sum_j \kappa_{ij}}",
        unnormalised=("the sums are not divided by the similarities' sum", similarity @ v),
        mean=("the sums are divided by the number of keys", similarity @ v / len(k)),
    )
    n, d = question.tokens, question.dim
    c = _width(question.kernel, d)

    def products(each: int, columns: int) -> dict[str, int]:
        return {"softmax": each * n * n * d, "features": each * n * c * columns}

    write(
        "multiply_adds",
        products(2, d + 1),
        "multiply-adds of softmax attention and of the route over features",
        "Which products grow with the square of N, and how long is a row of features beside its value?",
        r"2 N^2 D, \quad 2 N C (D + 1)",
        no_normaliser=("the column of ones that gives the denominator is forgotten", products(2, d)),
        once=("only one of the two products is counted", products(1, d + 1)),
    )


def draw(random: Random) -> dict[str, Any]:
    """Three queries, keys and values of two entries."""
    given = {"q": whole(random, -1, 2, 3, 2), "k": whole(random, -1, 2, 3, 2), "v": whole(random, 0, 3, 3, 2)}
    return given | {"tokens": 2 ** random.randint(8, 13), "dim": random.choice((8, 16, 32, 64))}


def _features(kernel: str, x: Vector) -> list[Any]:
    """1, sqrt 2 x_a, x_a^2, sqrt 2 x_a x_b with a < b; or elu(x) + 1: symbolic."""
    terms, root = [sympy.Rational(a.numerator, a.denominator) for a in x], sympy.sqrt(2)
    if kernel == "linear":
        return [a + 1 if a >= 0 else sympy.exp(a) for a in terms]
    pairs = [root * a * b for a, b in combinations(terms, 2)]
    return [sympy.Integer(1), *(root * a for a in terms), *(a * a for a in terms), *pairs]


def _means(similarity: Array, v: Array) -> list[list[Any]]:
    """The values weighted by each row; a row without weight gives 0, as in the product's kernels."""
    rows = zip(similarity, similarity.sum(1), strict=True)
    return [(row @ v / total if total else 0 * v[0]).tolist() for row, total in rows]


def _routes(board: Board, v: Array) -> Iterator[Step]:
    """The output over pairs (it goes on the board), by features, and causal."""
    similarity, ones = board["similarity"], np.ones((len(v), 1), dtype=object)
    state = board["features"]["k"].T @ np.concatenate([v, ones], 1)
    board |= {"zeros": sum(not total for total in similarity.sum(1)), "n": len(similarity), "m": len(v)}
    first = similarity[0].tolist()
    board |= {"weighted": dot(first, v[:, 0].tolist()), "total": added(first)}
    board |= {"output": _means(similarity, v), "state": state, "shape": state.shape}
    yield board.step(
        "First route, over all pairs: the values weighted by the similarities, over their sum. <zeros> of "
        "the <n> sums are 0 (such a row gets 0).",
        r"o_i = \frac{\sum_j \kappa_{ij} v_j}{\sum_j \kappa_{ij}}: \quad o_{11} = "
        r"\frac{<weighted>}{<total>} = <output[0][0]>, \quad O = <output>",
    )
    yield board.step(
        "Second route: the sums over keys do not know the query. U and z are formed once, <shape[0]> x "
        "<shape[1]> numbers together, and every query reads its output from them.",
        r"o_i = \frac{\phi(q_i)^T U}{\phi(q_i)^T z}, \quad [U, z] = \sum_j \phi(k_j) [v_j^T, 1] = <state>",
    )
    if len(similarity) == len(v):
        board["causal"] = _means(np.tril(similarity), v)
        yield board.step(
            "Third route, causal: U and z grow key by key, and query i reads them after key i. The last "
            "query has seen all <m> keys: its row is that of the other routes.",
            r"O_{\mathrm{causal}} = <causal>",
        )


def _width(kernel: str, d: int) -> int:
    return (d + 1) * (d + 2) // 2 if kernel == "quadratic" else d


def _cost_steps(question: Question, board: Board) -> Iterator[Step]:
    """Multiply-adds, numbers kept, and the N from which features win; the counts go on the board."""
    n, d, c = question.tokens, question.dim, _width(question.kernel, question.dim)
    b = 2 * c - d + 2
    crossing = _past_root(1, b, c * (d + 1))
    board["crossovers"] = {"multiply_adds": c * (d + 1) // d + 1, "kept": crossing}
    board["multiply_adds"] = {"softmax": 2 * n * n * d, "features": 2 * n * c * (d + 1)}
    board["kept"] = {"softmax": n * n + 3 * n * d, "features": n * (2 * c + 2 * d + 2) + c * (d + 1)}
    board |= {"n": n, "d": d, "c": c, "both": 2 * n * c, "again": n * (4 * d + 2) + c * (d + 1)}
    board["squares"] = board["crossovers"]["multiply_adds"] / d**2
    lengths = [2.0**power for power in range(4, 19)]
    counts = {"softmax": [2 * x * x * d for x in lengths], "features": [2 * x * c * (d + 1) for x in lengths]}
    yield board.step(
        "Time at D = M = <d> (M is the width of a value) and N = <n>, in multiply-adds: softmax pays N^2 for "
        "every entry of query and "
        "value, the features N for each of C = <c> features and value entries, so they win from N = "
        "<crossovers[multiply_adds]> on, which is <squares:.2g> D^2. (The loop that only adds up "
        "exponentials costs N^2, not N^2 D.)",
        r"O(N^2 (D + M)) : N^2 (D + M) = <multiply_adds[softmax]>, \quad O(N C M) = O(N D^2 M) : N C (M + 1) "
        r"+ N C (M + 1) = <multiply_adds[features]>",
        "multiply_adds",
        curves(f"Multiply-adds at width {d}", counts, lengths, ("N", "multiply-adds"), log="xy"),
    )
    yield board.step(
        "Memory, in numbers kept for the backward pass: softmax keeps its N^2 weights. To count only Q, K, V "
        "and U for the features is the common mistake: autograd also keeps phi(Q) and phi(K), 2NC = <both> "
        "numbers, so memory falls below softmax only from N = <crossovers[kept]> on. O(ND + D^3) needs "
        "features that are computed again in the backward pass: <again> numbers here.",
        r"O(N^2 + N(D + M)) : N^2 + 2ND + NM = <kept[softmax]>, \quad O(N C + C M) : N(2C + 2M + 2) + C(M + "
        r"1) = <kept[features]>",
        "kept",
    )
    board["countings"] = {
        "scores_and_weights": _past_root(2, b, c * (d + 1)),
        "weights": crossing,
        "recomputed": _past_root(1, d + 2, c * (d + 1)),
    }
    yield board.step(
        "So the length from which features need less memory depends on what is counted. Scores and weights "
        "both kept, as in loops that store S and A: from N = <countings[scores_and_weights]> on, about C "
        "(D^2/2 for the quadratic kernel). Weights only, as autograd does: from <countings[weights]>, about "
        "2C (D^2). Features computed again in the backward pass: from <countings[recomputed]>, about the "
        "root "
        "of C D.",
        r"2N^2 + 3ND > N(2C + 2D + 2) + C(D + 1), \quad N^2 + 3ND > N(2C + 2D + 2) + C(D + 1), \quad N^2 + "
        r"3ND > N(4D + 2) + C(D + 1)",
        "countings",
    )


def _past_root(a: int, b: int, c: int) -> int:
    """The smallest whole N with a N^2 > b N + c, for positive a and c."""
    return (b + isqrt(b * b + 4 * a * c)) // (2 * a) + 1


def _read(sums_NE: Tensor) -> Tensor:
    """Sums over their last column; 0 where that is nothing but rounding."""
    return sums_NE[:, :-1] / sums_NE[:, -1:].where(sums_NE[:, -1:] > 1e-12, float("inf"))


def _folded(x_ND: Tensor) -> Tensor:
    """The upper triangle of (1, x)(1, x)', off-diagonal entries times sqrt 2: 1, x, squares, pairs."""
    y = functional.pad(x_ND, (1, 0), value=1.0)
    outer = y[:, :, None] * y[:, None, :]
    i, j = torch.triu_indices(x_ND.shape[1], x_ND.shape[1], offset=1) + 1
    squares = outer.diagonal(dim1=1, dim2=2)
    return torch.cat([squares[:, :1], outer[:, 0, 1:] * 2**0.5, squares[:, 1:], outer[:, i, j] * 2**0.5], 1)


@lru_cache(maxsize=64)
def _counted(kernel: str, n: int, d: int) -> dict[str, dict[str, int]]:
    """What torch's own counters say of both routes, on tensors that have shapes but no data."""
    c = _width(kernel, d)

    def leaf(columns: int) -> Tensor:
        return torch.empty(n, columns, device="meta", requires_grad=True)

    def features() -> Tensor:
        sums = leaf(c) @ (leaf(c).T @ leaf(d + 1))
        return sums[:, :-1] / sums[:, -1:]

    def pairs() -> Tensor:
        return ((leaf(d) @ leaf(d).T) * d**-0.5).softmax(-1) @ leaf(d)

    counters = {"multiply_adds": multiply_adds, "kept": kept}
    return {name: {"softmax": count(pairs), "features": count(features)} for name, count in counters.items()}


def _crossing(question: Question, field: str, length: Any) -> Proof:
    """Whether the counters say so at this length and not yet at the one before."""
    now, before = (_counted(question.kernel, int(length) - back, question.dim)[field] for back in (0, 1))
    passed = now["features"] < now["softmax"] and before["features"] >= before["softmax"]
    found = [f"{at['features']} against {at['softmax']}" for at in (now, before)]
    detail, way = f"at {length}: {found[0]}, one before: {found[1]}", "the same counters on both sides"
    return holds(f"crossover of {field}", way, passed and length == int(length), detail)
