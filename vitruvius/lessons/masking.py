r"""Hiding a key from a query: minus infinity before softmax, beside three ways that go wrong.

Scores are $s_j = k_j^T q$. Right: $s_j = -\infty$ for hidden keys. Wrong: $s_j = 0$ (`zero_score`), $w_j = 0$ after
softmax (`zero_weight`), $s_j + c$ with a modest $c < 0$ (`finite_penalty`). Rows of `keys`, `values` and `queries` are
vectors, one per time step.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from pydantic import model_validator

from vitruvius import lessons
from vitruvius.core.blocks import Heatmap
from vitruvius.lessons import Answer, Exact, Matrix, Proof, Step, _board, _shapes, exact
from vitruvius.lessons._proofs import agree

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

SUBJECT = "attention"
"""Time steps, and entries of a vector."""


class Question(lessons.Question):
    """The assignment's keys, values and queries; query 2 must not see time step 3."""

    keys: Matrix = exact(((2, 0, 0), (3, -1, 0), (1, 0, 2)))
    values: Matrix = exact(((5, 4, 5), (3, 5, 5), (1, 2, 4)))
    queries: Matrix = exact(((1, 0, 4), (2, -1, 3), (4, 6, 1)))
    step: int = 2
    """The time step of the query, counted from 1."""
    hidden: tuple[int, ...] | None = None
    """The time steps it must not see; null: all later ones."""
    penalty: Exact = exact(-5)
    """What the third wrong way adds to hidden scores."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        _shapes.attended(self, ("queries", "keys", "values"))
        keys = len(self.keys)
        if not 1 <= self.step <= len(self.queries):
            raise ValueError(f"step is {self.step}: it needs 1 to {len(self.queries)}")
        if not set() < set(self.unseen) < set(range(1, keys + 1)):
            needs = f"it needs at least one time step from 1 to {keys}, and not all of them"
            raise ValueError(f"hidden has {list(self.unseen)}: {needs}")
        return self

    @property
    def unseen(self) -> tuple[int, ...]:
        """The hidden time steps, counted from 1."""
        return tuple(range(self.step + 1, len(self.keys) + 1)) if self.hidden is None else self.hidden


def solve(question: Question) -> Iterator[Step | Answer]:
    """The right way, then each wrong one with what gives it away."""
    told = {
        "right": "Minus infinity goes in before softmax. Its exponential is 0, so a hidden step has no weight and no "
        "share in the sum below the fraction: the weights sum to {total:.6g}, and changing the hidden keys and values "
        "moves the output by {keys:.6g} and {values:.6g}.",
        "zero_score": "Wrong: a score of 0 is not nothing, its exponential is 1. Hidden steps keep {hidden:.6g} of the "
        "weight, and the output moves by {values:.6g} per unit of the hidden values. A zeroed key does the same.",
        "zero_weight": "Wrong: deleting weights after softmax leaves a sum of {total:.6g}, and the hidden key still "
        "steers the output through the sum below the fraction (slope {keys:.6g}). Zeroing the value is no better.",
        "finite_penalty": f"Wrong unless it is huge: a penalty of {question.penalty} leaves hidden steps a weight of "
        "{hidden:.6g} and lets their keys ({keys:.6g}) and values ({values:.6g}) through. In float32 -1e9 is as good "
        "as minus infinity; float16 ends at -65504.",
    }
    hide, ways = _hidden(question), dict(_ways(question))
    for name, (shown, way) in ways.items():
        numbers = {"total": way["total"], "hidden": hide @ way["weights"], **way["leak"]}
        yield Step(
            says=told[name].format(**numbers),
            formula=rf"{shown} \;\Rightarrow\; w = {_board.row(way['weights'])}, \quad a = {_board.row(way['output'])}",
            value=way,
            figure=_heatmap({key: way["weights"] for key, (_, way) in ways.items()}) if name == "right" else None,
        )
    yield Answer(fields={name: way for name, (_, way) in ways.items()})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """This package's kernel and hand-masked softmax in torch; the leaks by automatic differentiation."""
    import torch
    from torch import Tensor

    from vitruvius import kernels

    q, k, v = (
        torch.tensor(rows, dtype=torch.float64)
        for rows in (question.queries[question.step - 1], question.keys, question.values)
    )
    unseen = torch.tensor([step in question.unseen for step in range(1, len(k) + 1)])
    softmax, penalty = kernels.get("softmax"), float(question.penalty)
    ways: dict[str, Callable[[Tensor], Tensor]] = {
        "right": lambda k: softmax.weights(q.view(1, 1, 1, -1), k[None, None], ~unseen, beta=1.0).flatten(),
        "zero_score": lambda k: (k @ q).masked_fill(unseen, 0.0).softmax(0),
        "zero_weight": lambda k: (k @ q).softmax(0).masked_fill(unseen, 0.0),
        "finite_penalty": lambda k: (k @ q + penalty * unseen).softmax(0),
    }
    for name, weigh in ways.items():
        by_keys, by_values = torch.func.jacrev(lambda k, v, weigh=weigh: weigh(k) @ v, argnums=(0, 1))(k, v)
        found = {
            "weights": weigh(k),
            "total": weigh(k).sum(),
            "output": weigh(k) @ v,
            "leak": {"keys": by_keys[:, unseen].norm(), "values": by_values[:, unseen].norm()},
        }
        how = "the softmax kernel of this package" if name == "right" else "torch.softmax"
        yield agree(name.replace("_", " "), f"{how} and autograd", answer[name], found)


def _hidden(question: Question) -> "Array":
    return np.array([step in question.unseen for step in range(1, len(question.keys) + 1)])


def _ways(question: Question) -> Iterator[tuple[str, tuple[str, dict[str, Any]]]]:
    """Each way as its formula and what it gives; how the output follows the hidden steps in closed form."""
    q, k, v = (np.array(rows, float) for rows in (question.queries[question.step - 1], question.keys, question.values))
    hide, score, length = _hidden(question), k @ q, float(np.linalg.norm(q))

    def way(weight: "Array", key_slope: "Array") -> dict[str, Any]:
        leak = {
            "keys": float(np.linalg.norm(key_slope[hide]) * length),
            "values": float(np.linalg.norm(weight[hide]) * v.shape[1] ** 0.5),
        }
        return {
            "weights": weight.tolist(),
            "total": float(weight.sum()),
            "output": (weight @ v).tolist(),
            "leak": leak,
        }

    nothing = np.zeros(len(k))
    masked = [r"-\infty" if hidden else value for hidden, value in zip(hide, score, strict=True)]
    yield "right", (_softmax_of(masked), way(_softmax(np.where(hide, -np.inf, score)), nothing))
    zeroed = np.where(hide, 0.0, score)
    yield "zero_score", (_softmax_of(zeroed.tolist()), way(_softmax(zeroed), nothing))
    full = _softmax(score)
    cut = np.where(hide, 0.0, full)
    deleting = rf"{_softmax_of(score.tolist())} \odot {_board.row((~hide).astype(int).tolist())}"
    yield "zero_weight", (deleting, way(cut, full * np.linalg.norm(cut @ v)))
    lowered = score + float(question.penalty) * hide
    soft = _softmax(lowered)
    yield "finite_penalty", (_softmax_of(lowered.tolist()), way(soft, soft * np.linalg.norm(v - soft @ v, axis=1)))


def _softmax(score: "Array") -> "Array":
    power = np.exp(score - score.max())
    return power / power.sum()


def _softmax_of(entries: Sequence[Any]) -> str:
    return rf"\operatorname{{softmax}} {_board.row(entries)}"


def _heatmap(weights: dict[str, list[float]]) -> Heatmap:
    return Heatmap(
        title="Weights by way of masking",
        values=tuple(map(tuple, weights.values())),
        rows=tuple(name.replace("_", " ") for name in weights),
        columns=tuple(f"k{j}" for j in range(1, len(weights["right"]) + 1)),
    )
