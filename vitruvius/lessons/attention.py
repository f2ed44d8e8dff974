r"""Attention by hand: dot products, softmax, a weighted sum of the values.

$a_i = \sum_j w_{ij} v_j$ with $w_{ij} = e^{s_{ij}} / \sum_l e^{s_{il}}$ and $s_{ij} = k_j^T q_i$, divided by
$\sqrt{d}$ when `scaled`. Rows of `keys`, `values` and `queries` are vectors, one per time step.
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from random import Random
from typing import Annotated, Any, Literal

import numpy as np
import sympy
import torch
from sympy import Expr
from torch.nn.functional import scaled_dot_product_attention

from vitruvius import lessons
from vitruvius.lessons import Answer, Attempt, Board, Matrix, Proof, Step, exact, latex
from vitruvius.lessons._board import dot
from vitruvius.lessons._draws import whole
from vitruvius.lessons._exact import root
from vitruvius.lessons._figures import heatmap
from vitruvius.lessons._proofs import agree
from vitruvius.lessons._tensors import arrays, attend, softmax, tensors, weights

SUBJECT = "attention"
TASK = (
    "Attention by hand. Rows of keys, values and queries are the vectors of the time steps. Work out "
    "the output of softmax attention for the query of time step <step>, without dividing the scores "
    "by anything: its scores, its weights, and the mixture."
)


class Question(lessons.Question):
    """Keys, values and queries as the document's columns: each inner list is the vector of one time step."""

    keys: Annotated[Matrix, "M D"] = exact(((2, 0, 0), (3, -1, 0), (1, 0, 2)))
    values: Annotated[Matrix, "M E"] = exact(((5, 4, 5), (3, 5, 5), (1, 2, 4)))
    queries: Annotated[Matrix, "N D"] = exact(((1, 0, 4), (2, -1, 3), (4, 6, 1)))
    step: int | None = 2
    """The time step whose output is wanted, counted from 1; null: all of them."""
    scaled: bool = False
    """Divide the scores by the square root of the keys' length."""
    mask: Annotated[Literal["none", "causal"] | tuple[tuple[bool, ...], ...], "N M"] = "none"
    """What a query may see: everything, its own past and present, or 1 (seen) and 0 (hidden) per query and
    key.
    """

    def refuse(self) -> None:
        if self.step is not None and not 1 <= self.step <= len(self.queries):
            raise ValueError(f"step is {self.step}: it needs 1 to {len(self.queries)}, or null for all")

    @property
    def asked(self) -> list[int]:
        """Indices of the queries that are worked out."""
        return list(range(len(self.queries))) if self.step is None else [self.step - 1]

    def sees(self, query: int) -> list[bool]:
        """Which keys a query may look at."""
        if isinstance(self.mask, tuple):
            return list(self.mask[query])
        return [self.mask == "none" or key <= query for key in range(len(self.keys))]

    def shaped(self, rows: Any) -> Any:
        """All rows, or the only one."""
        return rows if self.step is None else rows[0]


def solve(question: Question) -> Iterator[Step | Answer]:
    """Scores, softmax and weighted sum of every query that is asked for."""
    asked, dim = question.asked, question.sizes["D"]
    products = [[_dot(question.queries[i], key) for key in question.keys] for i in asked]
    scores = [[product / root(dim) for product in row] for row in products] if question.scaled else products
    seen = [question.sees(i) for i in asked]
    weights = [_softmax(*pair) for pair in zip(scores, seen, strict=True)]
    outputs = [[_dot(row, column) for column in zip(*question.values, strict=True)] for row in weights]
    forms = [_form(row, see, dim if question.scaled else 1) for row, see in zip(products, seen, strict=True)]
    found = {"products": products, "scores": scores, "weights": weights, "output": outputs}
    board = Board({name: question.shaped(rows) for name, rows in found.items()}, dim=dim)
    board |= {"first": products[0][0], "score": scores[0][0], "entries": [row[0] for row in question.values]}
    yield _product_step(board, question, products)
    if question.scaled:
        yield board.step(
            "Divide by the square root of the keys' length <dim>, so that long vectors do not make large "
            "scores: the first product <first:.6g> becomes the score <score:.6g>.",
            r"\frac{1}{\sqrt{<dim>}} <products> = <scores>",
        )
    yield _weight_step(board, question, seen, weights)
    board |= {"mixed": outputs[0][0], "sum": sum(outputs[0])}
    board["lines"] = r" \\ ".join(
        rf"a_{{{i + 1}}} &= {sympy.latex(form)} = {latex([[entry] for entry in output])}"
        for i, form, output in zip(asked, forms, outputs, strict=True)
    )
    yield board.step(
        "The output is the mixture of the values with these weights: its first entry <mixed> is a weighted "
        "mean of <entries>. It is not itself a row of weights: its entries sum to <sum>.",
        r"\begin{aligned} <lines> \end{aligned}",
        "output",
    )
    board["form"] = question.shaped([str(form) for form in forms])
    yield Answer(fields=board.pick("scores weights output form"))


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """This package's kernel, torch's own attention, and the symbolic form put into numbers."""
    q, k, v = tensors(question.queries, question.keys, question.values)
    beta = k.shape[-1] ** -0.5 if question.scaled else 1.0
    keep, asked = torch.tensor([question.sees(i) for i in range(len(q))]), question.asked
    scores, weight = beta * (q @ k.T)[asked], weights("softmax", q, k, keep, beta=beta)[asked]
    found = {
        "scores": scores,
        "weights": weight,
        "output": attend("softmax", q, k, v, keep, beta=beta)[asked],
    }
    shaped = {name: question.shaped(rows) for name, rows in found.items()}
    yield agree("scores, weights and output", "the softmax kernel of this package", answer, shaped)
    fused = scaled_dot_product_attention(q[None], k[None], v[None], keep, scale=beta)[0, asked]
    yield agree("output", "torch's scaled_dot_product_attention", answer["output"], question.shaped(fused))
    forms = [answer["form"]] if question.step else answer["form"]
    evaluated = [_evaluated(form, question.values) for form in forms]
    yield agree("form", "the symbolic form, put into numbers", answer["output"], question.shaped(evaluated))


def attempt(question: Question, write: Attempt) -> None:
    """Scores, weights, output."""
    q, k, v = arrays(question.queries, question.keys, question.values)
    asked, root_d, shaped = question.asked, k.shape[1] ** 0.5, question.shaped
    products = (q @ k.T)[asked]
    divided = ("the scores are divided by sqrt(d), which is not asked", shaped(products / root_d))
    plain = (f"the scores are not divided by sqrt({k.shape[1]})", shaped(products))
    scores = write(
        "scores",
        shaped(products / root_d if question.scaled else products),
        "scores of the query, one per key",
        "With which vectors is the query multiplied, and is the product divided by anything?",
        r"s_{ij} = k_j^T q_i \text{, divided by } \sqrt{d} \text{ when scaled}",
        swapped=("keys and queries are swapped", shaped((k @ q.T)[asked]) if len(q) == len(k) else None),
        root=plain if question.scaled else divided,
        width=("the scores are divided by d", shaped(products / root_d**2)),
    )
    hidden, score = ~np.array([question.sees(i) for i in asked]), np.atleast_2d(scores)
    weights = write(
        "weights",
        shaped(softmax(np.where(hidden, -np.inf, score))),
        "attention weights, one per key",
        "Which function turns the scores into positive weights that add up to 1?",
        r"w_{ij} = \frac{e^{s_{ij}}}{\sum_l e^{s_{il}}}",
        linear=("the scores are divided by their sum", shaped(score / score.sum(1, keepdims=True))),
        zero_score=("hidden scores are set to 0", shaped(softmax(np.where(hidden, 0.0, score)))),
        base2=("powers of 2 are taken instead of powers of e", shaped(softmax(score * math.log(2)))),
    )
    write(
        "output",
        weights @ v,
        "output of attention",
        "What is mixed with these weights?",
        r"a_i = \sum_j w_{ij} v_j",
        keys=("the keys are mixed instead of the values", weights @ k),
        transposed=("the matrix of the values is transposed", weights @ v.T if len(v) == len(v.T) else None),
        best=("only the value of the largest weight is taken", shaped(v[np.atleast_2d(weights).argmax(1)])),
    )


def draw(random: Random) -> dict[str, Any]:
    """Three keys, values and queries of small whole numbers."""
    given = {name: whole(random, -1, 2, 3, 3) for name in ("keys", "queries")}
    return given | {"values": whole(random, 0, 5, 3, 3), "step": random.randint(1, 3)}


def _product_step(board: Board, question: Question, products: list[list[Fraction]]) -> Step:
    lines, best = [], []
    for i, row in zip(question.asked, products, strict=True):
        for j, (key, product) in enumerate(zip(question.keys, row, strict=True), 1):
            terms = dot(key, question.queries[i])
            lines.append(rf"k_{{{j}}}^T q_{{{i + 1}}} &= {terms} = {latex(product)}")
        best.append(f"query {i + 1} agrees most with key {row.index(max(row)) + 1}, {max(row)}")
    board |= {"best": "; ".join(best), "lines": r" \\ ".join(lines)}
    return board.step(
        "The product of a query with each key says how much the two agree: <best>.",
        r"\begin{aligned} <lines> \end{aligned}",
        "products",
    )


def _weight_step(
    board: Board, question: Question, seen: list[list[bool]], weights: list[list[float]]
) -> Step:
    scores = board["scores"] if question.step is None else [board["scores"]]
    shown = [
        [score if see else r"-\infty" for score, see in zip(*rows, strict=True)]
        for rows in zip(scores, seen, strict=True)
    ]
    board |= {"shown": question.shaped(shown), "hidden": sum(row.count(False) for row in seen)}
    board |= {"largest": max(map(max, weights)), "total": sum(weights[0])}
    masked = "<hidden> hidden scores are first set to minus infinity, whose exponential is 0. "
    return board.step(
        (masked if board["hidden"] else "")
        + "Softmax turns the scores of a query into weights that sum to <total>: exponentials, divided by "
        "their sum, each row on its own. The largest weight is <largest>.",
        r"\operatorname{softmax} <shown> = <weights>",
        "weights",
        heatmap("Attention weights", weights, [f"q{i + 1}" for i in question.asked], "k"),
    )


def _dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    return sum(x * y for x, y in zip(a, b, strict=True))


def _softmax(scores: Sequence[Any], seen: Sequence[bool]) -> list[float]:
    """Weights of the visible keys; zeros where nothing is visible."""
    top = max((score for score, see in zip(scores, seen, strict=True) if see), default=0)
    powers = [math.exp(score - top) if see else 0.0 for score, see in zip(scores, seen, strict=True)]
    return [power / (sum(powers) or 1.0) for power in powers]


def _form(products: Sequence[Fraction], seen: Sequence[bool], dim: int) -> Expr:
    """The output as a combination of the value vectors v1, v2, ..."""
    powers = {
        sympy.Symbol(f"v{j}"): sympy.exp(
            sympy.Rational(product.numerator, product.denominator) / sympy.sqrt(dim)
        )
        for j, (product, see) in enumerate(zip(products, seen, strict=True), 1)
        if see
    }
    if not powers:
        return sympy.Integer(0)
    return sympy.Add(*(power * value for value, power in powers.items())) / sympy.Add(*powers.values())


def _evaluated(form: str, values: Matrix) -> list[float]:
    names = [sympy.Symbol(f"v{j}") for j in range(1, len(values) + 1)]
    number = sympy.lambdify(names, sympy.sympify(form), "mpmath")  # its exponentials do not overflow
    return [float(number(*map(float, column))) for column in zip(*values, strict=True)]
