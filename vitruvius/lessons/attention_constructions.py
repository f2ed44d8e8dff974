r"""Self-attention as an identity, a permutation, a linear layer per token, a convolution: the weights, written down.

A token is its content followed by a one-hot position, $[x_i, e_i]$. A head's query asks for one position,
$q_i = s\, e_{\tau(i)}$, its key is the position, its value the content: as the sharpness $s$ grows the head copies
token $\tau(i)$ to place i. Rows are tokens and matrices act from the right: n tokens, E content, D = E + n.
"""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from vitruvius import lessons
from vitruvius.lessons import Answer, Exact, Matrix, Proof, Step, _board, _shapes, exact
from vitruvius.lessons._figures import curves
from vitruvius.lessons._proofs import agree

if TYPE_CHECKING:
    from torch import Tensor

    Array = np.ndarray[Any, Any]

SUBJECT = "attention"
LARGEST = 32
"""Tokens, taps, and entries of a token."""

MEANINGS = {
    "identity": "Each token asks for its own place and gets its own content back.",
    "permutation": "Each token asks for the place of another and gets its content.",
    "pointwise": "Each token asks for its own place and the value map does the work: a running linear layer, properly "
    "called a pointwise or 1 x 1 convolution.",
    "convolution": "Each head fetches one neighbour and the output map applies one tap to each head: as many heads as "
    "the kernel is long make a convolution. The ends wrap around; zeros there would take one more token, of content 0.",
}


class Question(lessons.Question):
    """Four tokens with two entries each."""

    kind: Literal["identity", "permutation", "pointwise", "convolution"] = "convolution"
    x: Matrix = exact(((1, 2), (3, 1), (0, 4), (2, 2)))
    """The contents, one token per row."""
    permutation: tuple[int, ...] | None = None
    """For a permutation: which token (counted from 0) comes to each place; null: the next one, the first to the end."""
    weight: Matrix = exact(((1, 2), (0, 1)))
    """For pointwise: the linear map of every token, E rows."""
    taps: tuple[Matrix, ...] = exact((((1, 0), (0, 1)), ((2, 0), (0, 1)), ((0, 1), (1, 0))))
    """For a convolution: the map of each neighbour, from left to right, an odd number of them; the ends wrap around."""
    sharpness: Annotated[Exact, Field(ge=0, le=1000)] = exact(16)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        _, width = _shapes.matrix("x", self.x, (LARGEST, LARGEST), least=2)
        if self.kind == "permutation" and sorted(self.order) != list(range(len(self.x))):
            raise ValueError(f"permutation is {list(self.order)}: it needs each of 0 to {len(self.x) - 1} once")
        maps = {"pointwise": (self.weight,), "convolution": self.taps}.get(self.kind, ())
        field = "weight" if self.kind == "pointwise" else "taps"
        shapes = {(len(matrix), *sorted({len(row) for row in matrix})) for matrix in maps}
        if len(shapes) > 1 or any(len(s) != 2 or s[0] != width or not 1 <= s[1] <= LARGEST for s in shapes):
            needs = f"it needs {width} rows, as x has columns, and 1 to {LARGEST} columns"
            raise ValueError(f"{field} has the shapes {sorted(shapes)}: {needs}")
        if self.kind == "convolution" and (len(self.taps) % 2 == 0 or len(self.taps) > len(self.x)):
            raise ValueError(f"taps has {len(self.taps)} maps: it needs an odd number, at most {len(self.x)}")
        return self

    @property
    def order(self) -> tuple[int, ...]:
        """Which token comes to each place."""
        return self.permutation or (*range(1, len(self.x)), 0)

    @property
    def sources(self) -> list[list[int]]:
        """For each head, the place that each token looks at."""
        count, reach = len(self.x), len(self.taps) // 2
        if self.kind == "permutation":
            return [list(self.order)]
        offsets = range(-reach, reach + 1) if self.kind == "convolution" else (0,)
        return [[(place + offset) % count for place in range(count)] for offset in offsets]


class Layer(NamedTuple):
    """The tokens and the exact weights of H heads; P places."""

    tokens_nD: "Array"
    w_q_HDP: "Array"
    w_k_HDP: "Array"
    w_v_HDE: "Array"
    w_o: "Array | None"


def solve(question: Question) -> Iterator[Step | Answer]:
    """The tokens, the weights, what comes out, and how the error falls."""
    layer, target = _layer(question), _target(question)
    yield from _weight_steps(question, layer)
    output = _attend(layer)
    error = float(np.abs(output - target.astype(float)).max())
    yield Step(
        says=f"{MEANINGS[question.kind]} The output is off by at most {error:.4g}, because softmax leaves a little "
        "weight to every other token.",
        formula=rf"{_board.matrix(output.tolist())} \approx {_board.matrix(target.tolist())}",
        value=output.tolist(),
    )
    yield _error_step(question, layer, target)
    weights = {"w_q": layer.w_q_HDP, "w_k": layer.w_k_HDP, "w_v": layer.w_v_HDE}
    weights |= {} if layer.w_o is None else {"w_o": layer.w_o}
    found = {**weights, "output": output, "target": target}
    yield Answer(fields={**{name: value.tolist() for name, value in found.items()}, "error": error})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """torch's own operation for the target, and this package's kernel with the answer's weights."""
    import torch

    from vitruvius import kernels

    x, places = torch.tensor(question.x, dtype=torch.float64), torch.eye(len(question.x), dtype=torch.float64)
    target = _by_torch(question, x)
    yield agree("target", "torch's own operation", answer["target"], target)
    names = [name for name in ("w_q", "w_k", "w_v", "w_o") if name in answer.fields]
    weights = {name: torch.tensor(answer[name], dtype=torch.float64) for name in names}
    yield agree("weights", "blocks of torch matrices", {name: answer[name] for name in names}, _blocks(question))
    tokens = torch.cat([x, places], dim=1)
    q, k, v = (tokens @ weights[name] for name in ("w_q", "w_k", "w_v"))
    output = kernels.get("softmax").attend(q[None], k[None], v[None])[0].transpose(0, 1).flatten(1)
    output = output @ weights["w_o"] if "w_o" in weights else output
    yield agree("output", "the softmax kernel of this package with these weights", answer["output"], output)
    yield agree("error", "the kernel against torch's operation", answer["error"], (output - target).abs().max())


def _layer(question: Question) -> Layer:
    x, places = np.array(question.x, object), np.eye(len(question.x), dtype=object)
    above = np.zeros((x.shape[1], len(x)), dtype=object)
    w_q = [np.concatenate([above, question.sharpness * places[sources]]) for sources in question.sources]
    w_k = [np.concatenate([above, places])] * len(w_q)
    content = np.array(question.weight, object) if question.kind == "pointwise" else np.eye(x.shape[1], dtype=object)
    w_v = [np.concatenate([content, np.zeros((len(x), content.shape[1]), dtype=object)])] * len(w_q)
    w_o = np.concatenate(np.array(question.taps, object)) if question.kind == "convolution" else None
    return Layer(np.concatenate([x, places], axis=1), np.stack(w_q), np.stack(w_k), np.stack(w_v), w_o)


def _target(question: Question) -> "Array":
    """What the layer is to compute, exactly."""
    x = np.array(question.x, object)
    if question.kind == "pointwise":
        return x @ np.array(question.weight, object)
    if question.kind == "convolution":
        return sum(x[seen] @ np.array(tap, object) for seen, tap in zip(question.sources, question.taps, strict=True))
    return x[question.sources[0]]


def _attend(layer: Layer, sharper: float = 1.0) -> "Array":
    """The layer's output, its scores multiplied by a factor."""
    tokens_nD = layer.tokens_nD.astype(float)
    q, k, v = (tokens_nD @ w.astype(float) for w in (layer.w_q_HDP, layer.w_k_HDP, layer.w_v_HDE))
    score_Hnn = sharper * q @ k.swapaxes(1, 2) / math.sqrt(k.shape[2])
    power_Hnn = np.exp(score_Hnn - score_Hnn.max(2, keepdims=True))
    heads_HnE = power_Hnn / power_Hnn.sum(2, keepdims=True) @ v
    joined = np.concatenate(list(heads_HnE), axis=1)
    return joined if layer.w_o is None else joined @ layer.w_o.astype(float)


def _weight_steps(question: Question, layer: Layer) -> Iterator[Step]:
    count, width = len(question.x), len(question.x[0])
    yield Step(
        says=f"Put a one-hot position behind each content: {count} tokens of {width} + {count} entries. The content "
        "says what, the position says where, and a linear map can read each alone.",
        formula=rf"C = {_board.matrix(layer.tokens_nD.tolist())}",
        value=layer.tokens_nD.tolist(),
    )
    maps = {"W_q": layer.w_q_HDP[0], "W_k": layer.w_k_HDP[0], "W_v": layer.w_v_HDE[0]}
    yield Step(
        says=f"The query of head 1 turns a position into the one it looks for, times the sharpness "
        f"{question.sharpness}; the key is the position, the value the content. Each of the {len(layer.w_q_HDP)} "
        "heads has its own query map.",
        formula=r", \quad ".join(f"{name} = {_board.matrix(value.tolist())}" for name, value in maps.items()),
        value={name: value.tolist() for name, value in maps.items()},
    )


def _error_step(question: Question, layer: Layer, target: "Array") -> Step:
    count, sharpness = len(question.x), float(question.sharpness)
    lead = sharpness / math.sqrt(count)
    lost = (count - 1) / (math.exp(min(lead, 700.0)) + count - 1)
    factors = [step / 10 for step in range(21)]
    errors = [float(np.abs(_attend(layer, factor) - target.astype(float)).max()) for factor in factors]
    x = tuple(sharpness * factor for factor in factors)
    shown = {"largest error": [max(error, 1e-17) for error in errors]}
    return Step(
        says=f"The score wanted leads by {lead:.4g}, which leaves {lost:.4g} of the weight to the {count - 1} others. "
        f"At twice the sharpness the error is {errors[-1]:.3g}: it falls exponentially, but never to 0.",
        formula=rf"1 - w = \frac{{{count - 1}}}{{e^{{s / \sqrt{{{count}}}}} + {count - 1}}} = {_board.number(lost)}",
        value={"sharpness": list(x), "error": errors},
        figure=curves("Error", shown, x, ("sharpness", "largest error"), log="y"),
    )


def _by_torch(question: Question, x: "Tensor") -> "Tensor":
    """The operation itself."""
    import torch
    from torch.nn import functional

    if question.kind == "identity":
        return torch.nn.Identity()(x)
    if question.kind == "permutation":
        return x.index_select(0, torch.tensor(question.order))
    maps = question.taps if question.kind == "convolution" else (question.weight,)
    filters = torch.tensor(maps, dtype=torch.float64).permute(2, 1, 0)  # (out, in, taps)
    around = functional.pad(x.T[None], (len(maps) // 2,) * 2, mode="circular")
    return functional.conv1d(around, filters)[0].T


def _blocks(question: Question) -> dict[str, "Tensor"]:
    """The weights put together from blocks: positions rolled or reordered, contents passed on."""
    import torch
    from torch.nn.functional import pad

    count, width = len(question.x), len(question.x[0])
    places, content = torch.eye(count, dtype=torch.float64), torch.eye(width, dtype=torch.float64)
    asked, reach = [places], len(question.taps) // 2
    if question.kind == "convolution":
        asked = [places.roll(offset, dims=1) for offset in range(-reach, reach + 1)]
    if question.kind == "permutation":
        asked = [places[list(question.order)]]
    if question.kind == "pointwise":
        content = torch.tensor(question.weight, dtype=torch.float64)
    wanted = torch.stack([pad(float(question.sharpness) * rows, (0, 0, width, 0)) for rows in asked])
    found = {"w_q": wanted, "w_k": torch.stack([pad(places, (0, 0, width, 0))] * len(asked))}
    found["w_v"] = torch.stack([pad(content, (0, 0, 0, count))] * len(asked))
    if question.kind == "convolution":
        found["w_o"] = torch.cat([torch.tensor(tap, dtype=torch.float64) for tap in question.taps])
    return found
