r"""One pre-norm encoder layer in numbers: norm, attention, residual; norm, MLP, residual.

$u = x + \mathrm{MHA}(\mathrm{LN}_1(x))$ and $y = u + \mathrm{MLP}(\mathrm{LN}_2(u))$, dropout off as in evaluation.
Rows of `x` are tokens and matrices act from the right: N tokens, D width, H heads, E head width, M hidden width.
"""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from vitruvius import lessons
from vitruvius.core.blocks import Heatmap
from vitruvius.lessons import Answer, Exact, Matrix, Proof, Step, Vector, _board, exact
from vitruvius.lessons._proofs import agree

if TYPE_CHECKING:
    from torch import nn

    from vitruvius.nn.vit import EncoderLayer

    Array = np.ndarray[Any, Any]

SUBJECT = "vision transformers"
LARGEST = 64
"""Tokens, heads, and every width."""
THEIR_NAMES = {"mlp.0": "linear1", "mlp.3": "linear2", "attention.out": "self_attn.out_proj"}
THEIR_NAMES |= {"attention.qkv.": "self_attn.in_proj_"}
"""What torch.nn.TransformerEncoderLayer calls our parameters."""


class Question(lessons.Question):
    """Three tokens of width 4, two heads of width 2, three hidden units."""

    x: Matrix = exact(((1, 2, 0, 1), (0, 1, 3, 0), (2, 0, 1, 1)))
    w_q: tuple[Matrix, ...] = exact((((1, 0), (0, 1), (1, 0), (0, 1)), ((0, 1), (1, 0), (0, -1), (1, 0))))
    """One D x E matrix per head; no bias, as in the assignment."""
    w_k: tuple[Matrix, ...] = exact((((1, 0), (0, 1), (0, 1), (1, 0)), ((1, 1), (0, 1), (1, 0), (0, 1))))
    w_v: tuple[Matrix, ...] = exact((((1, 0), (0, 1), (1, 1), (0, 0)), ((0, 0), (1, 0), (1, 0), (0, 1))))
    w_o: Matrix = exact(((1, 0, 0, 1), (0, 1, 0, 0), (0, 1, 1, 0), (1, 0, 0, 1)))
    """From the heads side by side (H E) to D."""
    w_1: Matrix = exact(((1, 0, -1), (0, 1, 1), (1, 1, 0), (-1, 0, 1)))
    """D x M."""
    w_2: Matrix = exact(((1, 0, 0, 1), (0, 1, 0, -1), (0, 0, 1, 1)))
    """M x D."""
    b_o: Vector | None = None
    """Added after `w_o`, as `b_1` and `b_2` after `w_1` and `w_2`; null: nothing."""
    b_1: Vector | None = None
    b_2: Vector | None = None
    gain_1: Vector | None = None
    """Of the first norm, as `shift_1`; null: 1 and 0."""
    shift_1: Vector | None = None
    gain_2: Vector | None = None
    shift_2: Vector | None = None
    eps: Annotated[Exact, Field(gt=0, lt=1)] = exact("1e-6")
    """Added to the variance in both norms."""
    activation: Literal["gelu", "relu"] = "gelu"

    @model_validator(mode="after")
    def _fits(self) -> Self:
        width, heads, head_dim, hidden = self.dims
        if min(self.dims) < 1 or max(len(self.x), *self.dims) > LARGEST:
            has = f"{len(self.x)} tokens, width {width}, {heads} heads of {head_dim}, {hidden} hidden units"
            raise ValueError(f"the layer has {has}: it needs rows of one length, 1 to {LARGEST} of each")
        shapes: dict[str, tuple[int, ...]] = {"x": (len(self.x), width), "w_o": (heads * head_dim, width)}
        shapes |= {f"w_{part}": (heads, width, head_dim) for part in "qkv"}
        shapes |= {"w_1": (width, hidden), "w_2": (hidden, width), "b_1": (hidden,)}
        shapes |= dict.fromkeys(("b_o", "b_2", "gain_1", "shift_1", "gain_2", "shift_2"), (width,))
        for field, shape in shapes.items():
            value = getattr(self, field)
            if value is not None and _shape(value) != shape:
                raise ValueError(f"{field} has the shape {_shape(value)}: it needs {shape}")
        return self

    @property
    def dims(self) -> tuple[int, int, int, int]:
        """D, H, E and M."""
        return _shape(self.x)[-1], len(self.w_q), _shape(self.w_q)[-1], _shape(self.w_1)[-1]

    def array(self, field: str) -> "Array":
        """A field as numbers; what is not given as what changes nothing."""
        value = getattr(self, field)
        if value is not None:
            return np.array(value, float)
        return np.full(self.dims[3 if field == "b_1" else 0], float(field.startswith("gain")))


class Run(NamedTuple):
    """What the layer computes on its way."""

    x_ND: "Array"
    normed_ND: "Array"
    weights_HNN: "Array"
    after_ND: "Array"  # attention and the first residual
    hidden_NM: "Array"
    active_NM: "Array"
    output_ND: "Array"


def solve(question: Question) -> Iterator[Step | Answer]:
    """The two halves of the layer, each a norm, a map and a sum."""
    run = _forward(question)
    yield from _attention_steps(question, run)
    yield from _mlp_steps(question, run)
    yield Answer(fields={"after_attention": run.after_ND.tolist(), "output": run.output_ND.tolist()})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """This package's encoder layer with the same weights, and PyTorch's, whose heads must fill the width."""
    import torch

    x_BND = torch.tensor(question.x, dtype=torch.float64)[None]
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        ours = _our_layer(question)
        after, output = x_BND + ours.attention(ours.norm1(x_BND)), ours(x_BND)
        fills = ours.attention.heads * ours.attention.head_dim == x_BND.shape[-1]
        theirs = _torch_layer(question, ours)(x_BND) if fills else None
    found = {"after_attention": after[0], "output": output[0]}
    yield agree("both halves", "vitruvius.nn.vit.EncoderLayer", answer.fields, found)
    if theirs is not None:
        yield agree("output", "torch.nn.TransformerEncoderLayer", answer["output"], theirs[0])


def _attention_steps(question: Question, run: Run) -> Iterator[Step]:
    token, (width, heads, head_dim, _) = run.x_ND[0], question.dims
    yield Step(
        says="Layer norm looks at one token at a time: take its mean off and divide by its deviation. The first token "
        f"has mean {token.mean():.6g} and variance {token.var():.6g}, a sum over {width} entries divided by {width}.",
        formula=rf"\mathrm{{LN}}_1(x)_1 = \frac{{{_board.row(question.x[0])} - {token.mean():.6g}}}"
        rf"{{\sqrt{{{token.var():.6g} + \epsilon}}}} \odot \gamma + \beta = {_board.row(run.normed_ND[0].tolist())}",
        value=run.normed_ND.tolist(),
    )
    yield Step(
        says=f"Each of the {heads} heads compares its queries with its keys, scaled by the root of {head_dim}, and "
        f"mixes its values; the first token of head 1 looks at itself with weight {run.weights_HNN[0, 0, 0]:.6g}.",
        formula=rf"\operatorname{{softmax}}\left(\frac{{Q_1 K_1^T}}{{\sqrt{{{head_dim}}}}}\right) = "
        + _board.matrix(run.weights_HNN[0].tolist()),
        value=run.weights_HNN.tolist(),
        figure=_heatmap(run.weights_HNN),
    )
    yield Step(
        says="The heads side by side go through the output map and are added to what came in. The tokens moved by "
        f"{_moved(run.x_ND, run.after_ND):.6g} of their length; with a zero map they would stay where they were.",
        formula=r"u = x + [H_1, \dots, H_h] W_o + b_o = " + _board.matrix(run.after_ND.tolist()),
        value=run.after_ND.tolist(),
    )


def _mlp_steps(question: Question, run: Run) -> Iterator[Step]:
    name = question.activation
    yield Step(
        says=f"The second norm, then the hidden units, the same map for every token: {int((run.hidden_NM < 0).sum())} "
        f"of {run.hidden_NM.size} are negative, and {name.upper()} holds them back.",
        formula=rf"\operatorname{{{name}}}(\mathrm{{LN}}_2(u) W_1 + b_1) = {_board.matrix(run.active_NM.tolist())}",
        value=run.active_NM.tolist(),
    )
    yield Step(
        says="The second map leads back to the width and is added again: the tokens move by another "
        f"{_moved(run.after_ND, run.output_ND):.6g} of their length. Nothing normalises the sum; that is pre-norm.",
        formula=rf"y = u + \mathrm{{MLP}}(\mathrm{{LN}}_2(u)) = {_board.matrix(run.output_ND.tolist())}",
        value=run.output_ND.tolist(),
    )


def _forward(question: Question) -> Run:
    array, x_ND = question.array, question.array("x")
    normed_ND = _norm(question, x_ND, 1)
    q, k, v = (normed_ND @ array(f"w_{part}") for part in "qkv")  # each (H, N, E)
    score_HNN = q @ k.swapaxes(1, 2) / q.shape[2] ** 0.5
    power_HNN = np.exp(score_HNN - score_HNN.max(2, keepdims=True))
    weights_HNN = power_HNN / power_HNN.sum(2, keepdims=True)
    heads_NI = np.concatenate(list(weights_HNN @ v), axis=1)
    after_ND = x_ND + heads_NI @ array("w_o") + array("b_o")
    hidden_NM = _norm(question, after_ND, 2) @ array("w_1") + array("b_1")
    active_NM = _activate(question.activation, hidden_NM)
    output_ND = after_ND + active_NM @ array("w_2") + array("b_2")
    return Run(x_ND, normed_ND, weights_HNN, after_ND, hidden_NM, active_NM, output_ND)


def _norm(question: Question, x_ND: "Array", number: int) -> "Array":
    centred_ND = x_ND - x_ND.mean(1, keepdims=True)
    deviation_N1 = np.sqrt((centred_ND**2).mean(1, keepdims=True) + float(question.eps))
    return centred_ND / deviation_N1 * question.array(f"gain_{number}") + question.array(f"shift_{number}")


def _activate(name: str, x: "Array") -> "Array":
    if name == "relu":
        return np.maximum(x, 0.0)
    return x * (1 + np.vectorize(math.erf)(x / 2**0.5)) / 2


def _moved(before_ND: "Array", after_ND: "Array") -> float:
    return float(np.linalg.norm(after_ND - before_ND) / (np.linalg.norm(before_ND) or 1.0))


def _our_layer(question: Question) -> "EncoderLayer":
    import torch

    from vitruvius.arch.arch import Arch
    from vitruvius.nn.vit import EncoderLayer

    width, heads, head_dim, hidden = question.dims
    sizes = {"width": width, "depth": 1, "heads": heads, "head_dim": head_dim, "mlp": hidden}
    arch = Arch(**sizes, norm_eps=float(question.eps), activation=question.activation)
    layer = EncoderLayer(arch, arch.layers[0]).double().eval()
    qkv = [np.concatenate(list(question.array(f"w_{part}")), axis=1) for part in "qkv"]
    maps = {"norm1": "gain_1 shift_1", "norm2": "gain_2 shift_2", "attention.out": "w_o b_o"}
    state = {"attention.qkv.weight": np.concatenate(qkv, axis=1).T}
    for name, fields in {**maps, "mlp.0": "w_1 b_1", "mlp.3": "w_2 b_2"}.items():
        weight, bias = map(question.array, fields.split())
        state |= {f"{name}.weight": weight.T, f"{name}.bias": bias}
    layer.load_state_dict({name: torch.tensor(value) for name, value in state.items()})
    return layer


def _torch_layer(question: Question, ours: "EncoderLayer") -> "nn.Module":
    import torch

    width, heads, _, hidden = question.dims
    theirs = torch.nn.TransformerEncoderLayer(
        width, heads, hidden, 0.0, question.activation, float(question.eps), batch_first=True, norm_first=True
    ).double()
    state = {"self_attn.in_proj_bias": torch.zeros(3 * width)}
    for name, value in ours.state_dict().items():
        for our_part, their_part in THEIR_NAMES.items():
            name = name.replace(our_part, their_part)
        state[name] = value
    theirs.load_state_dict(state)
    return theirs


def _heatmap(weights_HNN: "Array") -> Heatmap:
    heads, tokens, _ = weights_HNN.shape
    names = [f"token {number}" for number in range(1, tokens + 1)]
    return Heatmap(
        title="Attention weights of every head",
        values=tuple(map(tuple, weights_HNN.reshape(-1, tokens).tolist())),
        rows=tuple(f"head {head} {name}" for head in range(1, heads + 1) for name in names),
        columns=tuple(names),
    )


def _shape(value: Any) -> tuple[int, ...]:
    """Of a nested tuple; ragged rows count as 0."""
    if not isinstance(value, tuple):
        return ()
    inner = {_shape(item) for item in value}
    return (len(value), *(inner.pop() if len(inner) == 1 else (0,)))
