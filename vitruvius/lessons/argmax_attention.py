r"""Argmax attention returns one value exactly, and gives queries and keys nothing to learn from.

$o = v_w$ with $w = \arg\max_j q \cdot k_j$, the first such key in a tie. The gradients are those of the sum of o.
Shapes: M keys, D width of query and keys, E width of the values.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from math import sqrt
from typing import TYPE_CHECKING, Any

from pydantic import model_validator

from vitruvius import kernels, lessons
from vitruvius.core.blocks import Bars
from vitruvius.lessons import Answer, Matrix, Proof, Step, Vector, _shapes, exact
from vitruvius.lessons._board import column, number, row
from vitruvius.lessons._proofs import agree, holds
from vitruvius.lessons._tensors import tensor

if TYPE_CHECKING:
    from torch import Tensor

SUBJECT = "attention"


class Question(lessons.Question):
    """Keys and values, one vector each, and a query."""

    keys: Matrix = exact(((1, 2, 0), (0, 3, 4), (5, 0, 0), (0, 0, 1)))
    values: Matrix = exact(((2, 0, 1), (1, 4, 3), (0, -1, 4), (1, 0, -1)))
    query: Vector = exact((1, 1, 2))

    @model_validator(mode="after")
    def _fits(self) -> "Question":
        rows, length = _shapes.matrix("keys", self.keys)
        _shapes.vector("query", self.query, length, "entry of a key")
        count, _ = _shapes.matrix("values", self.values)
        if count != rows:
            raise ValueError(f"values has {_shapes.counted(count, 'row')}: it needs {rows}, one for each key")
        return self


def solve(question: Question) -> Iterator[Step | Answer]:
    """The scores, the winner, what reaches the inputs, and how far the query is from another winner."""
    scores = [_dot(question.query, key) for key in question.keys]
    winner = scores.index(max(scores))
    chosen = ["1" if j == winner else "0" for j in range(len(scores))]
    yield Step(
        says=f"The inner product of the query with each of the {len(scores)} keys.",
        formula=rf"q \cdot k_j = {row(scores)}",
        value=scores,
        figure=Bars(
            title="Scores",
            names=tuple(f"key {j + 1}" for j in range(len(scores))),
            values=tuple(map(float, scores)),
            y_label="q . k",
        ),
    )
    output = list(question.values[winner])
    yield Step(
        says=f"Key {winner + 1} wins with {scores[winner]}: its value is returned as it is, the others do not count.",
        formula=rf"\mathrm{{argmax}} = {row(chosen)}, \quad o = v_{{{winner + 1}}} = {column(output)}",
        value=output,
    )
    gradients = _gradients(question, winner)
    yield gradients
    margin, rival = _margin(question, scores, winner)
    yield _boundary(question, margin, rival, winner)
    yield Step(
        says="Training needs a slope, so one either keeps softmax (argmax is its limit as the scores grow) or "
        "pretends: the straight-through estimator goes forward with argmax and backward with softmax, and gives the "
        f"query a gradient of length {_slope(question, 'hardmax', straight_through=True):.4g}.",
    )
    exact = None if margin is None else _root(margin)[0]
    yield Answer(fields={"scores": scores, "output": output, "gradients": gradients.value, "margin": exact})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """The product's kernel, its gradients, and a search for the nearest query with another winner."""
    import torch

    found = _again(question)
    yield agree("scores", "matrix product in float64", answer["scores"], found["scores"])
    yield agree("output", "kernel 'hardmax'", answer["output"], found["output"])
    yield agree("gradients", "autograd through the kernel", answer["gradients"], found["gradients"])
    yield agree("margin", "bisection of the winner in every direction", answer["margin"], found["margin"], 1e-8)
    if answer["margin"] is not None:
        generator = torch.Generator().manual_seed(0)
        ways = torch.randn(2000, len(question.query), generator=generator, dtype=torch.float64)
        ways = ways / ways.norm(dim=1, keepdim=True) * float(answer["margin"]) * (1 - 1e-7)
        query, keys = tensor([question.query]), tensor(question.keys)
        same = int(((query + ways) @ keys.T).argmax(1).eq((query @ keys.T).argmax(1)).sum())
        yield holds("no nearer boundary", "random directions", same == 2000, f"{same} of 2000 steps keep the winner")


def _gradients(question: Question, winner: int) -> Step:
    gradients = {
        "query": [0] * len(question.query),
        "keys": [[0] * len(question.query)] * len(question.keys),
        "values": [[int(j == winner)] * len(question.values[0]) for j in range(len(question.keys))],
    }
    soft = _slope(question, "softmax")
    return Step(
        says="A small change of query or keys leaves the winner the winner and the output the same: their gradient is "
        f"0, and whatever computed them is never improved. Only value {winner + 1} learns. Softmax attention would "
        f"send the query a gradient of length {soft:.4g}.",
        formula=r"\frac{\partial \sum o}{\partial q} = 0, \quad \frac{\partial \sum o}{\partial k_j} = 0, \quad "
        rf"\frac{{\partial \sum o}}{{\partial v_j}} = [j = {winner + 1}] \, (1, \dots, 1)",
        value=gradients,
    )


def _boundary(question: Question, margin: Fraction | None, rival: int, winner: int) -> Step:
    if margin is None:
        return Step(says=f"All {len(question.keys)} keys are equal: no query can make another one win.")
    jump = [b - a for a, b in zip(question.values[winner], question.values[rival], strict=True)]
    lead = _dot(question.query, question.keys[winner]) - _dot(question.query, question.keys[rival])
    return Step(
        says=f"The query may move {sqrt(margin):.6g} in any direction before another key wins; the nearest rival is "
        f"key {rival + 1}. There the output jumps: 'the gradient is always 0' is the common mistake, for on that "
        "boundary there is none, and no slope tells the query which side is better.",
        formula=rf"\min_j \frac{{q \cdot (k_{{{winner + 1}}} - k_j)}}{{\lVert k_{{{winner + 1}}} - k_j \rVert}} = "
        rf"\frac{{{number(lead)}}}{{\lVert k_{{{winner + 1}}} - k_{{{rival + 1}}} \rVert}} = {_root(margin)[1]}, \quad "
        rf"\Delta o = {column(jump)}",
        value={"margin": _root(margin)[0], "rival": rival + 1, "jump": jump},
    )


def _dot(left: Vector, right: Vector) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True)), Fraction(0))


def _margin(question: Question, scores: list[Fraction], winner: int) -> tuple[Fraction | None, int]:
    """The squared distance to the nearest query with another winner, and who wins there; None if there is none."""
    found: list[tuple[Fraction, int]] = []
    for j, key in enumerate(question.keys):
        apart = [a - b for a, b in zip(question.keys[winner], key, strict=True)]
        if any(apart):
            found.append(((scores[winner] - scores[j]) ** 2 / sum(x * x for x in apart), j))
    return min(found) if found else (None, winner)


def _root(square: Fraction) -> tuple[Fraction | float, str]:
    """The square root, exact where it is rational, and how it is written."""
    import sympy

    root = sympy.sqrt(sympy.Rational(square.numerator, square.denominator))
    return Fraction(int(root.p), int(root.q)) if root.is_Rational else float(root), sympy.latex(root)


def _slope(question: Question, kernel: str, **options: bool) -> float:
    """The length of the query's gradient of the sum of the output."""
    import torch

    q, k, v = (tensor(rows)[None, None] for rows in ([question.query], question.keys, question.values))
    out = kernels.get(kernel).attend(q.requires_grad_(), k, v, None, **options)
    return torch.autograd.grad(out.sum(), q)[0].norm().item()


@lru_cache(maxsize=8)
def _again(question: Question) -> dict[str, Any]:
    import torch
    from torch.nn.functional import pad

    q, k, v = (tensor(rows).requires_grad_() for rows in ([question.query], question.keys, question.values))
    # zeros up to a width of 4, 16 or 64: the kernel's 1/sqrt(D) is then a power of 2 and breaks no tie by rounding
    spare = next(width for width in (4, 16, 64) if width >= q.shape[1]) - q.shape[1]
    out = kernels.get("hardmax").attend(pad(q, (0, spare))[None, None], pad(k, (0, spare))[None, None], v[None, None])
    grads = torch.autograd.grad(out.sum(), (q, k, v), materialize_grads=True)
    query_D, keys_MD = q.detach()[0], k.detach()
    ways = keys_MD - keys_MD[(keys_MD @ query_D).argmax()]
    steps = [_bisected(query_D, keys_MD, way / way.norm()) for way in ways if way.norm() > 0]
    return {
        "scores": keys_MD @ query_D,
        "output": out[0, 0, 0].detach(),
        "gradients": {"query": grads[0][0], "keys": grads[1], "values": grads[2]},
        "margin": min(steps) if steps else None,
    }


def _bisected(query_D: "Tensor", keys_MD: "Tensor", way_D: "Tensor") -> float:
    """How far along a direction the winner stays the winner, found by trying."""
    first = int((keys_MD @ query_D).argmax())

    def changes(step: float) -> bool:
        return int((keys_MD @ (query_D + step * way_D)).argmax()) != first

    low, high = 0.0, 1.0
    while not changes(high) and high < 1e30:
        low, high = high, 2 * high
    for _ in range(120):
        middle = (low + high) / 2
        low, high = (low, middle) if changes(middle) else (middle, high)
    return high if low else 0.0
