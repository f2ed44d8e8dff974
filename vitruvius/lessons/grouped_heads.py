r"""Heads and groups: multi-head attention beside the grouped convolution, in numbers and in parameters.

$H = [H_1; \dots; H_h]\, W_o$ with $H_i = A_i V_i$: head i mixes tokens in its own share of the channels. A
head whose weights depend only on the offset, $A_i(n, n + o) = p_i(o)$, is a convolution with `groups` =
heads. Rows of `x` are tokens (their values), places beyond the ends wrap around. N tokens, D channels, H
heads, K offsets."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from random import Random
from typing import Annotated, Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from vitruvius import kernels, lessons
from vitruvius.lessons import Answer, Attempt, Board, Matrix, Proof, Step, exact
from vitruvius.lessons._board import dot
from vitruvius.lessons._draws import shares, whole
from vitruvius.lessons._exact import product
from vitruvius.lessons._figures import heatmap
from vitruvius.lessons._proofs import agree
from vitruvius.lessons._tensors import Array, arrays, softmax, tensors
from vitruvius.nn.attention import MultiHeadAttention

SUBJECT = "attention"
TASK = (
    "Heads whose weights depend only on the offset: each row of patterns holds the weights of the "
    "left neighbour, the token itself and the right neighbour for one head; places beyond the ends "
    "wrap around. Rows of x are tokens; the heads share its columns evenly, in order. How many "
    "channels has a head? Work out the output of all heads side by side, and count parameters: of "
    "attention (four maps of D x D) with these heads and with one head, of a convolution with as many "
    "taps, and of the same convolution with one group per head."
)


class Question(lessons.Question):
    """Four tokens of four channels; head 1 blurs its half of the channels, head 2 fetches the next token."""

    x: Annotated[Matrix, "N D"] = exact(((1, 0, 2, 1), (0, 3, 1, 2), (2, 1, 0, 1), (1, 2, 1, 0)))
    patterns: Annotated[Matrix, "H K"] = exact((("1/4", "1/2", "1/4"), (0, 0, 1)))
    """For each head, the weight of each neighbour from left to right: not negative, sum 1, an odd number."""

    def refuse(self) -> None:
        tokens, width, heads, taps = self.sizes.values()
        if width % heads:
            raise ValueError(f"patterns has {heads} heads: they need to divide the {width} columns of x")
        if taps % 2 == 0 or taps > tokens:
            raise ValueError(f"patterns have {taps} weights: they need an odd number, at most {tokens}")
        for number, pattern in enumerate(self.patterns, 1):
            if sum(pattern) != 1 or min(pattern) < 0:
                has = f"sum {sum(pattern)} and smallest weight {min(pattern)}"
                raise ValueError(f"pattern {number} has {has}: it needs sum 1 and no weight below 0")


def solve(question: Question) -> Iterator[Step | Answer]:
    """What a head mixes, the same as a convolution, and what both cost."""
    tokens, width, heads, taps = question.sizes.values()
    share = width // heads
    attention = [_attention(pattern, tokens) for pattern in question.patterns]
    names = [f"head {head} token {token}" for head in range(1, heads + 1) for token in range(1, tokens + 1)]
    board = Board(width=width, heads=heads, taps=taps, share=share, own=question.patterns[0][taps // 2])
    yield board.step(
        "Each of the <heads> heads gets <share> of the <width> channels of queries, keys and values, weighs "
        "tokens in its own way, and nothing passes from head to head before the output map joins them.",
        r"\frac{D}{H} = \frac{<width>}{<heads>} = <share>, \quad H = [H_1; \dots; H_h]\, W_o, \quad H_i = "
        r"\operatorname{softmax}\left(\frac{Q_i "
        r"K_i^T}{\sqrt{<share>}}\right) V_i",
        attention,
        heatmap("Weights of every head", sum(attention, []), names, "token "),
        "share",
    )
    shares = [[row[start : start + share] for row in question.x] for start in range(0, width, share)]
    mixed = [product(*pair) for pair in zip(attention, shares, strict=True)]
    around = [question.x[offset % tokens][0] for offset in range(-(taps // 2), taps // 2 + 1)]
    board["first"] = dot(question.patterns[0], around)
    board["output"] = [sum(parts, []) for parts in zip(*mixed, strict=True)]
    yield board.step(
        "The heads' weights here depend only on the offset, <taps> neighbours each. One weight per neighbour "
        "for a share of <share> channels: a Conv1d with groups = <heads> whose channels in a group share one "
        "filter.",
        r"(A_1 X_1)_{11} = <first> = <output[0][0]>, \quad [A_1 X_1, \dots, A_h X_h] = <output>",
    )
    yield from _differences(question, board)
    yield Answer(fields=board.pick("output parameters"))


def _differences(question: Question, board: Board) -> Iterator[Step]:
    """What heads and groups cost; the counts go on the board as parameters."""
    _, width, heads, taps = question.sizes.values()
    share, attention, convolution = width // heads, 4 * width**2, taps * width**2
    parameters = {"attention": attention, "attention_one_head": attention, "convolution": convolution}
    board["parameters"] = parameters | {"grouped_convolution": convolution // heads}
    yield board.step(
        "Both split the channels, work side by side and leave the joining to a later map of all channels. "
        "They differ in price: groups divide the weights of a convolution by <heads>, while <heads> heads "
        "have as many as one, <parameters[attention]>, since each reads the whole width. That heads save "
        "parameters is the common mistake.",
        r"4 D^2 = <parameters[attention]>, \qquad K D^2 = <parameters[convolution]> \to \frac{K "
        r"D^2}{<heads>} = <parameters[grouped_convolution]>",
        "parameters",
    )
    (x_NE,) = arrays([row[:share] for row in question.x])
    board["once"], board["twice"] = (softmax(f * x_NE @ (f * x_NE[0]) / share**0.5)[0] for f in (1, 2))
    yield board.step(
        "They differ in what they know, too: filters are the same for every input. A head that compares the "
        "tokens themselves gives the first token the weight <once:.4g> for itself, and <twice:.4g> when the "
        "input is doubled; a filter's <own> stays what it is.",
        value={"weight": board["once"], "weight of the doubled input": board["twice"]},
    )


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """A grouped convolution and this package's kernel for the numbers, modules for the parameters."""
    tokens, width, heads, taps = question.sizes.values()
    x, patterns = tensors(question.x, question.patterns)
    share, output = width // heads, answer["output"]
    # Each channel of a group goes through the group's pattern to the same channel.
    filters = torch.einsum("hk,oi->hoik", patterns, torch.eye(share, dtype=torch.float64))
    around = functional.pad(x.T[None], (taps // 2, taps // 2), mode="circular")
    convolved = functional.conv1d(around, filters.reshape(width, share, taps), groups=heads)[0].T
    yield agree("output", f"torch.nn.functional.conv1d with groups = {heads}", output, convolved)
    offsets = torch.arange(tokens)[None] - torch.arange(tokens)[:, None] + taps // 2
    places = offsets % tokens  # which tap reads token j from place i; beyond the taps there is none
    mask = functional.pad(patterns, (0, tokens - taps))[:, places].log()
    values = x.view(tokens, heads, -1).transpose(0, 1)[None]
    mixed = kernels.get("softmax").attend(torch.zeros_like(values), torch.zeros_like(values), values, mask)
    joined = mixed[0].transpose(0, 1).flatten(1)
    yield agree("output", "the softmax kernel with the weights as a mask", output, joined)
    with torch.device("meta"):  # shapes without memory
        layers = {
            "attention": MultiHeadAttention(width, heads, share, out_bias=False),
            "attention_one_head": nn.MultiheadAttention(width, 1, bias=False),
            "convolution": nn.Conv1d(width, width, taps, bias=False),
            "grouped_convolution": nn.Conv1d(width, width, taps, groups=heads, bias=False),
        }
    counts = {name: sum(p.numel() for p in layer.parameters()) for name, layer in layers.items()}
    yield agree("parameters", "the modules themselves", answer["parameters"], counts)


def attempt(question: Question, write: Attempt) -> None:
    """What the heads put out, and what both cost."""
    (x,), (tokens, width, heads, taps) = arrays(question.x), question.sizes.values()
    own = write(
        "share",
        width // heads,
        "channels of one head, and of one group",
        "Among how many heads are the channels divided?",
        r"\frac{D}{H}",
        whole_width=("every head is given all channels", width),
    )

    def mixed(patterns: Any, wrap: bool = True) -> Array:
        share, parts, reach = width // heads, list[Any](), taps // 2
        for head, pattern in enumerate(patterns):
            columns = x[:, head * share : (head + 1) * share]
            around = np.pad(columns, ((reach, reach), (0, 0)), mode="wrap" if wrap else "constant")
            parts.append(sum(float(w) * around[i : i + tokens] for i, w in enumerate(pattern)))
        return np.concatenate(parts, axis=1)

    write(
        "output",
        mixed(question.patterns),
        "output of all heads side by side, a row per token",
        "Which columns belong to which head, and which weight to which neighbour?",
        r"[A_1 X_1, \dots, A_h X_h], \quad (A_i X_i)_n = \sum_o p_i(o) x_{n + o}",
        mirrored=("left and right neighbours are exchanged", mixed([p[::-1] for p in question.patterns])),
        no_wrap=("places beyond the ends count as 0", mixed(question.patterns, wrap=False)),
        heads_exchanged=("the heads get one another's columns", mixed(question.patterns[::-1])),
    )

    def counts(attention: int, grouped: int) -> dict[str, int]:
        whole = {"attention": attention, "attention_one_head": 4 * width**2, "convolution": taps * width**2}
        return whole | {"grouped_convolution": grouped}

    every, fewer = 4 * width * heads * own, taps * width * own
    write(
        "parameters",
        counts(every, fewer),
        "parameters of both, with and without heads or groups",
        "Does a head read its share of the channels, or all of them?",
        r"4 D \cdot H \cdot \frac{D}{H}, \quad 4 D^2, \quad K D^2, \quad K D \cdot \frac{D}{H}",
        heads_save=("heads are taken to save parameters like groups", counts(every // heads, fewer)),
        groups_twice=("groups are taken to share input and output", counts(every, fewer // heads)),
    )


def draw(random: Random) -> dict[str, Any]:
    """Four tokens of four or six channels, two heads with short fractions as weights."""
    patterns = [list(map(str, shares(random, 3, random.choice((4, 5, 6))))) for _ in range(2)]
    return {"x": whole(random, 0, 3, 4, random.choice((4, 6))), "patterns": patterns}


def _attention(pattern: Sequence[Fraction], tokens: int) -> list[list[Fraction]]:
    """The weights of a head as a matrix: row i holds the pattern around place i."""
    rows = [[Fraction(0)] * tokens for _ in range(tokens)]
    for place, row in enumerate(rows):
        for offset, weight in enumerate(pattern, -(len(pattern) // 2)):
            row[(place + offset) % tokens] = weight
    return rows
