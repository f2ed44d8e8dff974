r"""Hiding a key from a query: minus infinity before softmax, beside three ways that go wrong.

Scores are $s_j = k_j^T q$. Right: $s_j = -\infty$ for hidden keys. Wrong: $s_j = 0$ (`zero_score`), $w_j = 0$
after softmax (`zero_weight`), $s_j + c$ with a modest $c < 0$ (`finite_penalty`). Rows of `keys`, `values`
and `queries` are vectors, one per time step."""

from collections.abc import Callable, Iterator
from random import Random
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor

from vitruvius import lessons
from vitruvius.lessons import Answer, Attempt, Board, Exact, Matrix, Proof, Step, exact, latex
from vitruvius.lessons._draws import whole
from vitruvius.lessons._figures import heatmap
from vitruvius.lessons._proofs import agree
from vitruvius.lessons._tensors import Array, arrays, softmax, tensors, weights

SUBJECT = "attention"
TASK = (
    "Hide time steps from softmax attention (scores not divided by anything): the query of time step "
    "<step> must not see the later ones. Rows of keys, values and queries are time steps. Work out "
    "its scores, the weights and the output when the mask is done right; and the weights, their sum "
    "and the output if hidden weights are deleted after the softmax instead."
)
PARTS = (
    r"w, \quad \sum_j w_j, \quad \sum_j w_j v_j, \quad \lVert \partial a / \partial k \rVert, \; "
    r"\lVert \partial a / \partial v \rVert \text{ of the hidden ones}"
)
"""What is asked of a way of masking."""
NAMED = {"right": "masked", "zero_weight": "deleted"}
"""What the values of a way are called where a student works them out."""
VERDICTS = {
    "right": "Minus infinity goes in before softmax. Its exponential is 0, so a hidden step has no weight "
    "and no share in the sum below the fraction: the weights sum to <total:.6g>, and changing the hidden "
    "keys and values moves the output by <keys:.6g> and <values:.6g>.",
    "zero_score": "Wrong: a score of 0 is not nothing, its exponential is 1. Hidden steps keep <hidden:.6g> "
    "of the weight, and the output moves by <values:.6g> per unit of the hidden values. A zeroed key does "
    "the same.",
    "zero_weight": "Wrong: deleting weights after softmax leaves a sum of <total:.6g>, and the hidden key "
    "still steers the output through the sum below the fraction (slope <keys:.6g>). Zeroing the value is no "
    "better.",
    "finite_penalty": "Wrong unless it is huge: a penalty of <penalty> leaves hidden steps a weight of "
    "<hidden:.6g> and lets their keys (<keys:.6g>) and values (<values:.6g>) through. In float32 -1e9 is as "
    "good as minus infinity; float16 ends at -65504.",
}


class Question(lessons.Question):
    """The assignment's keys, values and queries; query 2 must not see time step 3."""

    keys: Annotated[Matrix, "M D"] = exact(((2, 0, 0), (3, -1, 0), (1, 0, 2)))
    values: Annotated[Matrix, "M E"] = exact(((5, 4, 5), (3, 5, 5), (1, 2, 4)))
    queries: Annotated[Matrix, "N D"] = exact(((1, 0, 4), (2, -1, 3), (4, 6, 1)))
    step: int = 2
    """The time step of the query, counted from 1."""
    hidden: tuple[int, ...] | None = None
    """The time steps it must not see; null: all later ones."""
    penalty: Exact = exact(-5)
    """What the third wrong way adds to hidden scores."""

    def refuse(self) -> None:
        if not 1 <= self.step <= len(self.queries):
            raise ValueError(f"step is {self.step}: it needs 1 to {len(self.queries)}")
        if not set() < set(self.unseen) < set(range(1, len(self.keys) + 1)):
            needs = f"it needs at least one time step from 1 to {len(self.keys)}, and not all of them"
            raise ValueError(f"hidden has {list(self.unseen)}: {needs}")

    @property
    def unseen(self) -> tuple[int, ...]:
        """The hidden time steps, counted from 1."""
        return tuple(range(self.step + 1, len(self.keys) + 1)) if self.hidden is None else self.hidden

    @property
    def hide(self) -> Array:
        """Whether each key is hidden."""
        return np.isin(np.arange(1, len(self.keys) + 1), self.unseen)


def solve(question: Question) -> Iterator[Step | Answer]:
    """The right way, then each wrong one with what gives it away."""
    ways = dict(_ways(question))
    rows, names = [way["weights"] for _, way in ways.values()], [name.replace("_", " ") for name in ways]
    asked, compared = question.queries[question.step - 1], Board(step=question.step, count=len(question.keys))
    compared |= {"query": asked, "scores": np.array(question.keys) @ np.array(asked)}
    yield compared.step(
        "The query of time step <step> is compared with all <count> keys: one score each, none hidden yet.",
        r"s_j = k_j^T q, \quad q = <query:column>, \quad s = <scores>",
    )
    for name, (shown, way) in ways.items():
        board = Board(way, **way["leak"], shown=shown, penalty=question.penalty)
        board["hidden"] = question.hide @ way["weights"]
        step = board.step(
            VERDICTS[name],
            r"<shown> \;\Rightarrow\; w = <weights>, \quad a = <output>",
            way,
            heatmap("Weights by way of masking", rows, names, "k") if name == "right" else None,
        )
        parts = ("weights", "total", "output") if name in NAMED else ()
        yield step.model_copy(update={"named": {f"{NAMED[name]}_{part}": way[part] for part in parts}})
    yield Answer(fields={name: way for name, (_, way) in ways.items()})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """This package's kernel and hand-masked softmax in torch; the leaks by automatic differentiation."""
    q, k, v = tensors(question.queries[question.step - 1], question.keys, question.values)
    unseen, penalty = torch.from_numpy(question.hide), float(question.penalty)
    ways: dict[str, Callable[[Tensor], Tensor]] = {
        "right": lambda k: weights("softmax", q[None], k, ~unseen, beta=1.0)[0],
        "zero_score": lambda k: (k @ q).masked_fill(unseen, 0.0).softmax(0),
        "zero_weight": lambda k: (k @ q).softmax(0).masked_fill(unseen, 0.0),
        "finite_penalty": lambda k: (k @ q + penalty * unseen).softmax(0),
    }
    for name, weigh in ways.items():
        by_keys, by_values = torch.func.jacrev(lambda k, v, weigh=weigh: weigh(k) @ v, argnums=(0, 1))(k, v)
        leak = {"keys": by_keys[:, unseen].norm(), "values": by_values[:, unseen].norm()}
        found = {"weights": weigh(k), "total": weigh(k).sum(), "output": weigh(k) @ v, "leak": leak}
        how = "the softmax kernel of this package" if name == "right" else "torch.softmax"
        yield agree(name.replace("_", " "), f"{how} and autograd", answer[name], found)


def attempt(question: Question, write: Attempt) -> None:
    """The scores, the right way, and what deleting weights gives."""
    (keys, values, queries), hide = arrays(question.keys, question.values, question.queries), question.hide
    right = keys @ queries[question.step - 1]
    score = write(
        "scores",
        right,
        "scores of the query, one for each key",
        "Which query asks, and with what is it compared?",
        r"s_j = k_j^T q",
        scaled=("the scores are divided by the root of the width", right / keys.shape[1] ** 0.5),
        next_query=("the query of the next time step is taken", keys @ queries[question.step % len(queries)]),
    )
    open_ = softmax(score)
    cut = np.where(hide, 0.0, open_)
    masked = write(
        "masked_weights",
        softmax(np.where(hide, -np.inf, score)),
        "weights when the mask is done right",
        "What must a hidden score be so that its exponential is 0?",
        r"\operatorname{softmax}(s_j \text{, hidden ones } -\infty)",
        zero_score=("hidden scores are set to 0", softmax(np.where(hide, 0.0, score))),
        deleted=("weights are deleted after the softmax", cut),
        unmasked=("nothing is hidden", open_),
    )
    output = write(
        "masked_output",
        masked @ values,
        "output when the mask is done right",
        "What is mixed with the weights?",
        r"a = \sum_j w_j v_j",
        keys_mixed=("keys are mixed, not values", masked @ keys),
    )
    ways = {name: way for name, (_, way) in _ways(question)}

    def parts(weight: Array, total: float, output: Array, slope: float) -> dict[str, Any]:
        leak = {"keys": slope, "values": np.linalg.norm(weight[hide]) * values.shape[1] ** 0.5}
        return {"weights": weight, "total": total, "output": output, "leak": leak}

    write(
        "right",
        parts(masked, masked.sum(), output, 0.0),
        "all of the right way, with what leaks",
        "What can hidden keys and values change if their weights are 0 before the softmax divides?",
        PARTS,
        asked=False,
        zero_score=("hidden scores are set to 0", ways["zero_score"]),
        deleted=("weights are deleted after the softmax", ways["zero_weight"]),
        finite=("the penalty is added to hidden scores", ways["finite_penalty"]),
    )
    deleted = write(
        "deleted_weights",
        cut,
        "weights when hidden ones are deleted after the softmax",
        "Over which scores does the softmax run here?",
        r"\operatorname{softmax}(s) \odot \text{seen}",
        renormalised=("the weights are normalised again", masked),
        undeleted=("nothing is deleted", open_),
    )
    total = write(
        "deleted_total",
        deleted.sum(),
        "sum of these weights",
        "What is missing from 1 when some are deleted?",
        r"\sum_j w_j = 1 - \sum_{\text{hidden}} \operatorname{softmax}(s)_j",
        gone=("the deleted weights are added up", 1 - deleted.sum()),
    )
    output = write(
        "deleted_output",
        deleted @ values,
        "output with these weights",
        "Are the weights divided by their sum once more?",
        r"a = \sum_j w_j v_j",
        divided=("the output is divided by the sum of the weights", deleted @ values / deleted.sum()),
    )
    slope = np.linalg.norm(open_[hide]) * np.linalg.norm(deleted @ values)
    write(
        "zero_weight",
        parts(deleted, total, output, float(slope * np.linalg.norm(queries[question.step - 1]))),
        "all of deleting weights, with what leaks",
        "What stands below the fraction of the softmax when the weights are deleted?",
        PARTS,
        asked=False,
        renormalised=("the weights are normalised again", ways["right"]),
        score_of_0=("hidden scores are set to 0 instead", ways["zero_score"]),
    )


def draw(random: Random) -> dict[str, Any]:
    """Three time steps; the last one is hidden."""
    given = {name: whole(random, -1, 2, 3, 3) for name in ("keys", "queries")}
    return given | {"values": whole(random, 0, 5, 3, 3), "step": 2}


def _ways(question: Question) -> Iterator[tuple[str, tuple[str, dict[str, Any]]]]:
    """Each way as its formula and what it gives; how the output follows the hidden steps in closed form."""
    q, k, v = arrays(question.queries[question.step - 1], question.keys, question.values)
    hide, score = question.hide, k @ q

    def way(scores: Any, weight: Array, key_slope: Array, deleting: str = "") -> tuple[str, dict[str, Any]]:
        leak = {
            "keys": np.linalg.norm(key_slope[hide]) * np.linalg.norm(q),
            "values": np.linalg.norm(weight[hide]) * v.shape[1] ** 0.5,
        }
        found = {"weights": weight, "total": weight.sum(), "output": weight @ v, "leak": leak}
        return rf"\operatorname{{softmax}} {latex(scores)}{deleting}", found

    nothing = np.zeros(len(k))
    masked = [r"-\infty" if hidden else value for hidden, value in zip(hide, score, strict=True)]
    yield "right", way(masked, softmax(np.where(hide, -np.inf, score)), nothing)
    zeroed = np.where(hide, 0.0, score)
    yield "zero_score", way(zeroed, softmax(zeroed), nothing)
    full = softmax(score)
    cut = np.where(hide, 0.0, full)
    deleting = rf" \odot {latex((~hide).astype(int))}"
    yield "zero_weight", way(score, cut, full * np.linalg.norm(cut @ v), deleting)
    lowered = score + float(question.penalty) * hide
    soft = softmax(lowered)
    yield "finite_penalty", way(lowered, soft, soft * np.linalg.norm(v - soft @ v, axis=1))
