r"""Argmax attention returns one value exactly, and gives queries and keys nothing to learn from.

$o = v_w$ with $w = \arg\max_j q \cdot k_j$, the first such key in a tie. The gradients are those of the sum
of o. Shapes: M keys, D width of query and keys, E width of the values."""

from collections.abc import Iterator
from fractions import Fraction
from math import sqrt
from random import Random
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from vitruvius import lessons
from vitruvius.core.blocks import Bars
from vitruvius.lessons import Answer, Attempt, Board, Matrix, Proof, Step, Vector, exact
from vitruvius.lessons._board import dot
from vitruvius.lessons._draws import whole
from vitruvius.lessons._exact import root, surd
from vitruvius.lessons._figures import numbered
from vitruvius.lessons._proofs import agree, holds
from vitruvius.lessons._tensors import arrays, attend, softmax, tensors

SUBJECT = "attention"
TASK = (
    "Attention with argmax in the place of softmax. Rows of keys and values belong together. Which "
    "value is returned, and how far may the query move in any direction before another key wins?"
)


class Question(lessons.Question):
    """Keys and values, one vector each, and a query."""

    keys: Annotated[Matrix, "M D"] = exact(((1, 2, 0), (0, 3, 4), (5, 0, 0), (0, 0, 1)))
    values: Annotated[Matrix, "M E"] = exact(((2, 0, 1), (1, 4, 3), (0, -1, 4), (1, 0, -1)))
    query: Annotated[Vector, "D"] = exact((1, 1, 2))


def solve(question: Question) -> Iterator[Step | Answer]:
    """The scores, the winner, what reaches the inputs, and how far the query is from another winner."""
    count, dim, width = question.sizes.values()
    scores = [sum(a * b for a, b in zip(question.query, key, strict=True)) for key in question.keys]
    winner = scores.index(max(scores))
    chosen = [int(j == winner) for j in range(count)]
    board = Board(count=count, scores=scores, winner=winner + 1, best=max(scores), chosen=chosen)
    board["product"] = dot(question.query, question.keys[0])
    names, heights = numbered("key ", count), tuple(map(float, scores))
    yield board.step(
        "The inner product of the query with each of the <count> keys.",
        r"q \cdot k_1 = <product> = <scores[0]>, \quad q \cdot k_j = <scores>",
        figure=Bars(title="Scores", names=names, values=heights, y_label="q . k"),
    )
    board["output"] = list(question.values[winner])
    yield board.step(
        "Key <winner> wins with <best>: its value is returned as it is, the others do not count.",
        r"\mathrm{argmax} = <chosen>, \quad o = v_{<winner>} = <output:column>",
    )
    none, values = [0] * dim, [[one] * width for one in chosen]
    board["gradients"] = {"query": none, "keys": [none] * count, "values": values}
    board["soft"] = _slope(question, "softmax")
    board["through"] = _slope(question, "hardmax", straight_through=True)
    yield board.step(
        "A small change of query or keys leaves the winner the winner and the output the same: their "
        "gradient is 0, and whatever computed them is never improved. Only value <winner> learns. Softmax "
        "attention would send the query a gradient of length <soft:.4g>.",
        r"\frac{\partial \sum o}{\partial q} = 0, \quad \frac{\partial \sum o}{\partial k_j} = 0, \quad "
        r"\frac{\partial \sum o}{\partial v_j} = [j = <winner>] \, (1, \dots, 1)",
        "gradients",
    )
    yield _boundary(question, board, winner)
    yield board.step(
        "Training needs a slope, so one either keeps softmax (argmax is its limit as the scores grow) or "
        "pretends: the straight-through estimator goes forward with argmax and backward with softmax, and "
        "gives the query a gradient of length <through:.4g>.",
    )
    yield Answer(fields=board.pick("scores output gradients margin"))


def _boundary(question: Question, board: Board, winner: int) -> Step:
    """The step about the nearest query with another winner; its distance goes on the board as the margin."""
    squares: list[tuple[Fraction, int]] = []
    for j, key in enumerate(question.keys):
        apart = sum((a - b) ** 2 for a, b in zip(question.keys[winner], key, strict=True))
        if apart:
            squares.append(((board["best"] - board["scores"][j]) ** 2 / apart, j))
    board["margin"] = root(min(squares)[0]) if squares else None
    if not squares:
        return board.step("All <count> keys are equal: no query can make another one win.")
    square, rival = min(squares)
    jump = [b - a for a, b in zip(question.values[winner], question.values[rival], strict=True)]
    board |= {"rival": rival + 1, "jump": jump, "lead": board["best"] - board["scores"][rival]}
    board |= {"distance": sqrt(square), "surd": surd(square)}
    return board.step(
        "The query may move <distance:.6g> in any direction before another key wins; the nearest rival is "
        "key <rival>. There the output jumps: 'the gradient is always 0' is the common mistake, for on that "
        "boundary there is none, and no slope tells the query which side is better.",
        r"\min_j \frac{q \cdot (k_{<winner>} - k_j)}{\lVert k_{<winner>} - k_j \rVert} = "
        r"\frac{<lead>}{\lVert k_{<winner>} - k_{<rival>} \rVert} = <surd>, \quad \Delta o = <jump:column>",
        "margin rival jump",
    )


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """The product's kernel, its gradients, and a search for the nearest query with another winner."""
    q, k, v = (part.requires_grad_() for part in tensors([question.query], question.keys, question.values))
    # Zeros up to a width of 4, 16 or 64 make the kernel's 1/sqrt(D) a power of 2: rounding breaks no tie.
    spare = next(width for width in (4, 16, 64) if width >= q.shape[1]) - q.shape[1]
    out = attend("hardmax", pad(q, (0, spare)), pad(k, (0, spare)), v)
    grads = torch.autograd.grad(out.sum(), (q, k, v), materialize_grads=True)
    query_D, keys_MD = q.detach()[0], k.detach()
    score_M = keys_MD @ query_D
    yield agree("scores", "matrix product in float64", answer["scores"], score_M)
    yield agree("output", "kernel 'hardmax'", answer["output"], out[0].detach())
    found = {"query": grads[0][0], "keys": grads[1], "values": grads[2]}
    yield agree("gradients", "autograd through the kernel", answer["gradients"], found)
    ways = [way / way.norm() for way in keys_MD - keys_MD[score_M.argmax()] if way.norm() > 0]
    margin = min((_bisected(query_D, keys_MD, way) for way in ways), default=None)
    yield agree("margin", "bisection of the winner in every direction", answer["margin"], margin, 1e-8)
    if answer["margin"] is not None:
        generator = torch.Generator().manual_seed(0)
        moves = torch.randn(2000, len(query_D), generator=generator, dtype=torch.float64)
        moves = moves / moves.norm(dim=1, keepdim=True) * float(answer["margin"]) * (1 - 1e-7)
        same = int(((query_D + moves) @ keys_MD.T).argmax(1).eq(score_M.argmax()).sum())
        detail = f"{same} of 2000 steps keep the winner"
        yield holds("no nearer boundary", "random directions", same == 2000, detail)


def attempt(question: Question, write: Attempt) -> None:
    """Scores, the winner's value, the distance to another winner."""
    q, k, v = arrays(question.query, question.keys, question.values)
    scores = write(
        "scores",
        k @ q,
        "product of the query with each key",
        "How much does the query agree with each key?",
        r"s_j = q \cdot k_j",
        cosine=("the products are divided by the lengths of the keys", k @ q / np.linalg.norm(k, axis=1)),
        scaled=("the products are divided by the root of the width", k @ q / len(q) ** 0.5),
    )
    winner = int(scores.argmax())
    write(
        "output",
        v[winner],
        "what is returned",
        "Which key wins, and what happens to the values of the others?",
        r"o = v_w, \quad w = \arg\max_j s_j",
        soft=("the values are mixed with a softmax", softmax(scores) @ v),
        key=("the winning key is returned, not its value", k[winner]),
    )
    apart = np.linalg.norm(k - k[winner], axis=1)
    lead, rivals = scores[winner] - scores, apart > 0
    if not rivals.any():
        return
    margin = float((lead[rivals] / apart[rivals]).min())
    write(
        "margin",
        margin,
        "distance that the query may move",
        "In which direction does a rival catch up soonest, and how fast?",
        r"\min_j \frac{s_w - s_j}{\lVert k_w - k_j \rVert}",
        lead=("the lead is not divided by the distance of the keys", float(lead[rivals].min())),
        half=("half of the distance is taken", margin / 2),
    )


def draw(random: Random) -> dict[str, Any]:
    """Four keys whose scores differ, so that one wins."""
    while True:
        keys, query = whole(random, 0, 5, 4, 3), whole(random, -1, 2, 3)
        scores = [sum(a * b for a, b in zip(key, query, strict=True)) for key in keys]
        if len(set(scores)) == len(scores):
            return {"keys": keys, "query": query, "values": whole(random, -2, 4, 4, 3)}


def _slope(question: Question, kernel: str, **options: bool) -> float:
    """The length of the query's gradient of the sum of the output."""
    q, k, v = tensors([question.query], question.keys, question.values)
    out = attend(kernel, q.requires_grad_(), k, v, None, **options)
    return torch.autograd.grad(out.sum(), q)[0].norm().item()


def _bisected(query_D: Tensor, keys_MD: Tensor, way_D: Tensor) -> float:
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
