r"""One pre-norm encoder layer in numbers: norm, attention, residual; norm, MLP, residual.

$u = x + \mathrm{MHA}(\mathrm{LN}_1(x))$ and $y = u + \mathrm{MLP}(\mathrm{LN}_2(u))$, dropout off as in
evaluation. Rows of `x` are tokens and matrices act from the right: N tokens, D width, H heads, E head width,
M hidden width."""

import math
from collections.abc import Iterator
from random import Random
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import torch
from pydantic import Field
from torch import nn

from vitruvius import lessons
from vitruvius.arch.arch import Arch
from vitruvius.lessons import Answer, Attempt, Board, Exact, Matrix, Proof, Step, Vector, exact
from vitruvius.lessons._draws import whole
from vitruvius.lessons._figures import heatmap
from vitruvius.lessons._proofs import agree
from vitruvius.lessons._tensors import Array, softmax, tensor
from vitruvius.nn.vit import EncoderLayer

SUBJECT = "vision transformers"
TASK = (
    "One pre-norm encoder layer (dropout off) without biases, gains 1 and shifts 0: u = x + "
    "MHA(LN(x)), y = u + MLP(LN(u)) with <activation> between the two maps of the MLP. Rows of x are "
    "tokens and matrices multiply from the right; w_q, w_k and w_v hold one matrix per head; epsilon "
    "is <eps>. Work out the layer."
)
THEIR_NAMES = {
    "mlp.0": "linear1",
    "mlp.3": "linear2",
    "attention.out": "self_attn.out_proj",
    "attention.qkv.": "self_attn.in_proj_",
}
"""What torch.nn.TransformerEncoderLayer calls our parameters."""


class Question(lessons.Question):
    """Three tokens of width 4, two heads of width 2 without bias, three hidden units."""

    x: Annotated[Matrix, "N D"] = exact(((1, 2, 0, 1), (0, 1, 3, 0), (2, 0, 1, 1)))
    w_q: Annotated[tuple[Matrix, ...], "H D E"] = exact(
        (((1, 0), (0, 1), (1, 0), (0, 1)), ((0, 1), (1, 0), (0, -1), (1, 0)))
    )
    w_k: Annotated[tuple[Matrix, ...], "H D E"] = exact(
        (((1, 0), (0, 1), (0, 1), (1, 0)), ((1, 1), (0, 1), (1, 0), (0, 1)))
    )
    w_v: Annotated[tuple[Matrix, ...], "H D E"] = exact(
        (((1, 0), (0, 1), (1, 1), (0, 0)), ((0, 0), (1, 0), (1, 0), (0, 1)))
    )
    w_o: Annotated[Matrix, "H*E D"] = exact(((1, 0, 0, 1), (0, 1, 0, 0), (0, 1, 1, 0), (1, 0, 0, 1)))
    w_1: Annotated[Matrix, "D M"] = exact(((1, 0, -1), (0, 1, 1), (1, 1, 0), (-1, 0, 1)))
    w_2: Annotated[Matrix, "M D"] = exact(((1, 0, 0, 1), (0, 1, 0, -1), (0, 0, 1, 1)))
    b_o: Annotated[Vector | None, "D"] = None
    """Added after `w_o`, as `b_1` and `b_2` after `w_1` and `w_2`; null: nothing."""
    b_1: Annotated[Vector | None, "M"] = None
    b_2: Annotated[Vector | None, "D"] = None
    gain_1: Annotated[Vector | None, "D"] = None
    """Of the first norm, as `shift_1`; null: 1 and 0."""
    shift_1: Annotated[Vector | None, "D"] = None
    gain_2: Annotated[Vector | None, "D"] = None
    shift_2: Annotated[Vector | None, "D"] = None
    eps: Annotated[Exact, Field(gt=0, lt=1)] = exact("1e-6")
    """Added to the variance in both norms."""
    activation: Literal["gelu", "relu"] = "gelu"

    def array(self, field: str) -> Array:
        """A field as numbers; one that is not given changes nothing (zeros, ones for a gain)."""
        value = getattr(self, field)
        if value is not None:
            return np.array(value, float)
        return np.full(self.sizes["M" if field == "b_1" else "D"], float(field.startswith("gain")))


class ForwardPass(NamedTuple):
    """What the layer computes on its way."""

    x_ND: Array
    normed_ND: Array
    weights_HNN: Array
    after_ND: Array  # attention and the first residual
    hidden_NM: Array
    active_NM: Array
    output_ND: Array


def solve(question: Question) -> Iterator[Step | Answer]:
    """The two halves of the layer, each a norm, a map and a sum."""
    run, (tokens, width, heads, head_dim, _) = _forward(question), question.sizes.values()
    board = Board(run._asdict(), x=question.x, width=width, heads=heads, head_dim=head_dim)
    board |= {"mean": run.x_ND[0].mean(), "variance": run.x_ND[0].var()}
    board |= {"normed": run.normed_ND, "weights": run.weights_HNN, "active": run.active_NM}
    yield board.step(
        "Layer norm looks at one token at a time: take its mean off and divide by its deviation. The first "
        "token has mean <mean> and variance <variance>, a sum over <width> entries divided by <width>.",
        r"\mathrm{LN}_1(x)_1 = \frac{<x[0]> - <mean:.6g>}{\sqrt{<variance:.6g> + \epsilon}} \odot \gamma + "
        r"\beta = <normed[0]>",
        "normed",
    )
    rows = [f"head {head} token {token}" for head in range(1, heads + 1) for token in range(1, tokens + 1)]
    yield board.step(
        "Each of the <heads> heads compares its queries with its keys, scaled by the root of <head_dim>, and "
        "mixes its values; the first token of head 1 looks at itself with weight <weights[0][0][0]>.",
        r"\operatorname{softmax}\left(\frac{Q_1 K_1^T}{\sqrt{<head_dim>}}\right) = <weights[0]>",
        "weights",
        heatmap("Attention weights of every head", run.weights_HNN.reshape(-1, tokens), rows, "token "),
    )
    board |= {"heard": run.after_ND - run.x_ND, "fed": run.output_ND - run.after_ND}
    board |= {"moved": _moved(run.x_ND, run.after_ND), "moved_again": _moved(run.after_ND, run.output_ND)}
    yield board.step(
        "The heads side by side go through the output map and are added to what came in. The tokens moved by "
        "<moved> of their length; with a zero map they would stay where they were.",
        r"u = x + [H_1, \dots, H_h] W_o + b_o = <x> + <heard> = <after_ND>",
    )
    name, hidden_NM = question.activation, run.hidden_NM
    board |= {"name": name, "NAME": name.upper(), "below": (hidden_NM < 0).sum(), "units": hidden_NM.size}
    yield board.step(
        "The second norm, then the hidden units, the same map for every token: <below> of <units> are "
        "negative, and <NAME> holds them back.",
        r"\operatorname{<name>}(\mathrm{LN}_2(u) W_1 + b_1) = \operatorname{<name>} <hidden_NM> = <active>",
    )
    yield board.step(
        "The second map leads back to the width and is added again: the tokens move by another <moved_again> "
        "of their length. Nothing normalises the sum; that is pre-norm.",
        r"y = u + \mathrm{MLP}(\mathrm{LN}_2(u)) = <after_ND> + <fed> = <output_ND>",
    )
    yield Answer(fields={"after_attention": run.after_ND, "output": run.output_ND})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """This package's encoder layer with the same weights, and PyTorch's, whose heads must fill the width."""
    x_BND = tensor([question.x])
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        ours = _our_layer(question)
        after, output = x_BND + ours.attention(ours.norm1(x_BND)), ours(x_BND)
        fills = ours.attention.heads * ours.attention.head_dim == x_BND.shape[-1]
        theirs = _torch_layer(question, ours)(x_BND) if fills else None
    found = {"after_attention": after[0], "output": output[0]}
    yield agree("both halves", "vitruvius.nn.vit.EncoderLayer", answer, found)
    if theirs is not None:
        yield agree("output", "torch.nn.TransformerEncoderLayer", answer["output"], theirs[0])


def attempt(question: Question, write: Attempt) -> None:
    """Norm, weights, first residual, hidden units, second residual."""
    array, x = question.array, question.array("x")
    centred, across = x - x.mean(1, keepdims=True), np.maximum(x.std(0), 1e-12)
    normed = write(
        "normed",
        _norm(question, x, 1),
        "the tokens after the first norm",
        "Over what are mean and variance taken: over the entries of a token, or over the tokens?",
        r"\frac{x - \bar x}{\sqrt{\mathrm{var}(x) + \epsilon}}",
        sample=("the variance is divided by n - 1", centred / x.std(1, ddof=1, keepdims=True)),
        columns=("the norm runs over the tokens", (x - x.mean(0)) / across),
    )
    q, k, v = (normed @ array(f"w_{part}") for part in "qkv")
    products, head_dim = q @ k.swapaxes(1, 2), q.shape[2]
    weights = write(
        "weights",
        softmax(products / head_dim**0.5),
        "attention weights of each head, a row per query",
        "What are the scores divided by?",
        r"\operatorname{softmax}\left( \frac{Q_h K_h^T}{\sqrt{E}} \right)",
        unscaled=("the scores are not divided by the root of the head's width", softmax(products)),
        whole_width=("the root of the token's width is divided by", softmax(products / x.shape[1] ** 0.5)),
    )
    mixed = np.concatenate(list(weights @ v), axis=1) @ array("w_o") + array("b_o")
    after = write(
        "after_attention",
        x + mixed,
        "the tokens after the first sum",
        "What is added to the output of attention: the tokens, or the normed tokens?",
        r"u = x + [H_1, \dots, H_h] W_o",
        no_residual=("the sum with the input is forgotten", mixed),
        normed_residual=("the normed tokens are added instead of the tokens", normed + mixed),
    )
    hidden = _norm(question, after, 2) @ array("w_1") + array("b_1")
    plain = after @ array("w_1") + array("b_1")
    active = write(
        "active",
        _active(question, hidden),
        "hidden units of the MLP behind the activation",
        "What goes into the MLP: the sum, or the normed sum?",
        r"\phi(\mathrm{LN}(u) W_1)",
        no_norm=("the second norm is forgotten", _active(question, plain)),
        relu=("relu is taken for gelu", np.maximum(hidden, 0.0)),
    )
    moved = active @ array("w_2") + array("b_2")
    write(
        "output",
        after + moved,
        "output of the layer",
        "What is added to the output of the MLP?",
        r"y = u + \phi(\mathrm{LN}(u) W_1) W_2",
        no_second_residual=("the second sum is forgotten", moved),
        from_input=("the input is added instead of u", x + moved),
    )


def _active(question: Question, hidden_NM: Array) -> Array:
    """The hidden units behind the activation."""
    if question.activation == "relu":
        return np.maximum(hidden_NM, 0.0)
    return np.asarray(hidden_NM * (1 + np.vectorize(math.erf)(hidden_NM / 2**0.5)) / 2)


def draw(random: Random) -> dict[str, Any]:
    """Three tokens of width 4, two heads of width 2, three hidden units."""
    given = {f"w_{part}": whole(random, -1, 1, 2, 4, 2) for part in "qkv"}
    shapes = {"w_o": (4, 4), "w_1": (4, 3), "w_2": (3, 4)}
    given |= {name: whole(random, -1, 1, *shape) for name, shape in shapes.items()}
    return given | {"x": [random.sample(range(4), 4) for _ in range(3)]}


def _forward(question: Question) -> ForwardPass:
    array, x_ND = question.array, question.array("x")
    normed_ND = _norm(question, x_ND, 1)
    q, k, v = (normed_ND @ array(f"w_{part}") for part in "qkv")  # each (H, N, E)
    weights_HNN = softmax(q @ k.swapaxes(1, 2) / q.shape[2] ** 0.5)
    heads_NI = np.concatenate(list(weights_HNN @ v), axis=1)
    after_ND = x_ND + heads_NI @ array("w_o") + array("b_o")
    hidden_NM = _norm(question, after_ND, 2) @ array("w_1") + array("b_1")
    active_NM = _active(question, hidden_NM)
    output_ND = after_ND + active_NM @ array("w_2") + array("b_2")
    return ForwardPass(x_ND, normed_ND, weights_HNN, after_ND, hidden_NM, active_NM, output_ND)


def _norm(question: Question, x_ND: Array, number: int) -> Array:
    centred_ND = x_ND - x_ND.mean(1, keepdims=True)
    deviation_N1 = np.sqrt((centred_ND**2).mean(1, keepdims=True) + float(question.eps))
    return centred_ND / deviation_N1 * question.array(f"gain_{number}") + question.array(f"shift_{number}")


def _moved(before_ND: Array, after_ND: Array) -> float:
    return float(np.linalg.norm(after_ND - before_ND) / (np.linalg.norm(before_ND) or 1.0))


def _our_layer(question: Question) -> EncoderLayer:
    _, width, heads, head_dim, hidden = question.sizes.values()
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


def _torch_layer(question: Question, ours: EncoderLayer) -> nn.Module:
    _, width, heads, _, hidden = question.sizes.values()
    theirs = nn.TransformerEncoderLayer(
        width, heads, hidden, 0.0, question.activation, float(question.eps), batch_first=True, norm_first=True
    ).double()
    state = {"self_attn.in_proj_bias": torch.zeros(3 * width)}
    for name, value in ours.state_dict().items():
        for our_part, their_part in THEIR_NAMES.items():
            name = name.replace(our_part, their_part)
        state[name] = value
    theirs.load_state_dict(state)
    return theirs
