r"""Attention by hand: dot products, softmax, a weighted sum of the values.

$a_i = \sum_j w_{ij} v_j$ with $w_{ij} = e^{s_{ij}} / \sum_l e^{s_{il}}$ and $s_{ij} = k_j^T q_i$, divided by
$\sqrt{d}$ when `scaled`. Rows of `keys`, `values` and `queries` are vectors, one per time step.
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import model_validator

from vitruvius import lessons
from vitruvius.core.blocks import Heatmap
from vitruvius.lessons import Answer, Matrix, Proof, Step, _board, _shapes, exact
from vitruvius.lessons._proofs import agree

if TYPE_CHECKING:
    from sympy import Expr

SUBJECT = "attention"
"""Time steps, and entries of a vector."""


class Question(lessons.Question):
    """Keys, values and queries as the document's columns: each inner list is the vector of one time step."""

    keys: Matrix = exact(((2, 0, 0), (3, -1, 0), (1, 0, 2)))
    values: Matrix = exact(((5, 4, 5), (3, 5, 5), (1, 2, 4)))
    queries: Matrix = exact(((1, 0, 4), (2, -1, 3), (4, 6, 1)))
    step: int | None = 2
    """The time step whose output is wanted, counted from 1; null: all of them."""
    scaled: bool = False
    """Divide the scores by the square root of the keys' length."""
    mask: Literal["none", "causal"] | tuple[tuple[bool, ...], ...] = "none"
    """What a query may see: everything, its own past and present, or 1 (seen) and 0 (hidden) per query and key."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        _shapes.attended(self, ("queries", "keys", "values"))
        if self.step is not None and not 1 <= self.step <= len(self.queries):
            raise ValueError(f"step is {self.step}: it needs 1 to {len(self.queries)}, or null for all")
        if isinstance(self.mask, tuple):
            _shapes.exactly("mask", self.mask, len(self.queries), len(self.keys))
        return self

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
    """Scores, softmax and weighted sum of each query that is asked for; the last one stands on the board."""
    last, dim = question.asked[-1], len(question.keys[0])
    products = [[_dot(question.queries[i], key) for key in question.keys] for i in question.asked]
    yield _product_step(question, last, products[-1])
    scores: list[list[Any]] = [list(row) for row in products]
    if question.scaled:
        scores = [[_over_root(product, dim) for product in row] for row in products]
        yield Step(
            says=f"Divide by the square root of the keys' length {dim}, so that long vectors do not make large scores: "
            f"the first product {float(products[-1][0]):.6g} becomes the score {float(scores[-1][0]):.6g}.",
            formula=rf"\frac{{1}}{{\sqrt{{{dim}}}}} {_board.row(products[-1])} = {_board.row(scores[-1])}",
            value=question.shaped(scores),
        )
    visible = [question.sees(i) for i in question.asked]
    weights = [_softmax(row, seen) for row, seen in zip(scores, visible, strict=True)]
    yield _weight_step(question, scores[-1], visible[-1], weights)
    outputs = [[_dot(row, column) for column in zip(*question.values, strict=True)] for row in weights]
    forms = [_form(row, seen, dim if question.scaled else 1) for row, seen in zip(products, visible, strict=True)]
    yield _output_step(question, last, forms[-1], outputs[-1])
    found = {"scores": scores, "weights": weights, "output": outputs, "form": [str(form) for form in forms]}
    yield Answer(fields={name: question.shaped(rows) for name, rows in found.items()})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """This package's kernel, torch's own attention, and the symbolic form put into numbers."""
    import torch
    from torch.nn import functional

    from vitruvius import kernels

    q, k, v = (
        torch.tensor(rows, dtype=torch.float64)[None, None]
        for rows in (question.queries, question.keys, question.values)
    )
    beta = k.shape[-1] ** -0.5 if question.scaled else 1.0
    keep = torch.tensor([question.sees(i) for i in range(q.shape[2])])
    asked, softmax = question.asked, kernels.get("softmax")
    found = {
        "scores": beta * (q @ k.mT)[0, 0, asked],
        "weights": softmax.weights(q, k, keep, beta=beta)[0, 0, asked],
        "output": softmax.attend(q, k, v, keep, beta=beta)[0, 0, asked],
    }
    claimed = {name: answer[name] for name in found}
    shaped = {name: question.shaped(value.tolist()) for name, value in found.items()}
    yield agree("scores, weights and output", "the softmax kernel of this package", claimed, shaped)
    fused = functional.scaled_dot_product_attention(q, k, v, keep, scale=beta)[0, 0, asked]
    yield agree("output", "torch's scaled_dot_product_attention", answer["output"], question.shaped(fused.tolist()))
    forms = [answer["form"]] if question.step else answer["form"]
    evaluated = [_evaluated(form, question.values) for form in forms]
    yield agree("form", "the symbolic form, put into numbers", answer["output"], question.shaped(evaluated))


def _product_step(question: Question, query: int, products: Sequence[Fraction]) -> Step:
    q, number = question.queries[query], query + 1
    lines = [
        rf"k_{{{j}}}^T q_{{{number}}} &= {_terms(key, q)} = {_board.number(product)}"
        for j, (key, product) in enumerate(zip(question.keys, products, strict=True), 1)
    ]
    best = max(range(len(products)), key=products.__getitem__)
    return Step(
        says=f"The product of query {number} with each key says how much the two agree; "
        f"key {best + 1} agrees most, with {products[best]}.",
        formula=r"\begin{aligned} " + r" \\ ".join(lines) + r" \end{aligned}",
        value=list(products),
    )


def _weight_step(question: Question, scores: Sequence[Any], seen: Sequence[bool], weights: list[list[float]]) -> Step:
    shown = [score if see else r"-\infty" for score, see in zip(scores, seen, strict=True)]
    hidden = seen.count(False)
    masked = f"{hidden} hidden scores are first set to minus infinity, whose exponential is 0. " if hidden else ""
    names = tuple(f"k{j}" for j in range(1, len(scores) + 1))
    return Step(
        says=f"{masked}Softmax turns scores into weights that sum to {sum(weights[-1]):.6g}: exponentials, divided by "
        f"their sum. The largest weight is {max(weights[-1]):.6g}.",
        formula=rf"\operatorname{{softmax}} {_board.row(shown)} = {_board.row(weights[-1])}",
        value=question.shaped(weights),
        figure=Heatmap(
            title="Attention weights",
            values=tuple(map(tuple, weights)),
            rows=tuple(f"q{i + 1}" for i in question.asked),
            columns=names,
        ),
    )


def _output_step(question: Question, query: int, form: "Expr", output: list[float]) -> Step:
    import sympy

    entries = ", ".join(str(value[0]) for value in question.values)
    return Step(
        says=f"The output is the mixture of the values with these weights: its first entry {output[0]:.6g} is a "
        f"weighted mean of {entries}. It is not itself a row of weights: its entries sum to {sum(output):.6g}.",
        formula=rf"a_{{{query + 1}}} = {sympy.latex(form)} = {_board.column(output)}",
        value=output,
    )


def _dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    return sum(x * y for x, y in zip(a, b, strict=True))


def _over_root(value: Fraction, dim: int) -> Fraction | float:
    """A number over a root, exact where the root is whole."""
    root = math.isqrt(dim)
    return value / root if root**2 == dim else float(value) / math.sqrt(dim)


def _softmax(scores: Sequence[Any], seen: Sequence[bool]) -> list[float]:
    """Weights of the visible keys; zeros where nothing is visible."""
    top = max((score for score, see in zip(scores, seen, strict=True) if see), default=0)
    powers = [math.exp(score - top) if see else 0.0 for score, see in zip(scores, seen, strict=True)]
    return [power / (sum(powers) or 1.0) for power in powers]


def _form(products: Sequence[Fraction], seen: Sequence[bool], dim: int) -> "Expr":
    """The output as a combination of the value vectors v1, v2, ..."""
    import sympy

    powers = {
        sympy.Symbol(f"v{j}"): sympy.exp(sympy.Rational(product.numerator, product.denominator) / sympy.sqrt(dim))
        for j, (product, see) in enumerate(zip(products, seen, strict=True), 1)
        if see
    }
    if not powers:
        return sympy.Integer(0)
    return sympy.Add(*(power * value for value, power in powers.items())) / sympy.Add(*powers.values())


def _evaluated(form: str, values: Matrix) -> list[float]:
    import sympy

    names = [sympy.Symbol(f"v{j}") for j in range(1, len(values) + 1)]
    number = sympy.lambdify(names, sympy.sympify(form), "mpmath")  # its exponentials do not overflow
    return [float(number(*map(float, column))) for column in zip(*values, strict=True)]


def _terms(a: Sequence[Fraction], b: Sequence[Fraction]) -> str:
    """A dot product written out."""
    signed = [[f"({_board.number(x)})" if x < 0 else _board.number(x) for x in vector] for vector in (a, b)]
    return " + ".join(rf"{x} \cdot {y}" for x, y in zip(*signed, strict=True))
