r"""Heads and groups: multi-head attention beside the grouped convolution, in numbers and in parameters.

$H = [H_1; \dots; H_h]\, W_o$ with $H_i = A_i V_i$: head i mixes tokens in its own share of the channels. A head whose
weights depend only on the offset, $A_i(n, n + o) = p_i(o)$, is a convolution with `groups` = heads. Rows of `x` are
tokens (their values), places beyond the ends wrap around. N tokens, D channels, H heads, K offsets.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from pydantic import model_validator

from vitruvius import lessons
from vitruvius.core.blocks import Heatmap
from vitruvius.lessons import Answer, Matrix, Proof, Step, _board, _shapes, exact
from vitruvius.lessons._proofs import agree

if TYPE_CHECKING:
    from torch import Tensor

SUBJECT = "attention"
"""Tokens, and channels."""


class Question(lessons.Question):
    """Four tokens of four channels; head 1 blurs its half of the channels, head 2 fetches the next token."""

    x: Matrix = exact(((1, 0, 2, 1), (0, 3, 1, 2), (2, 1, 0, 1), (1, 2, 1, 0)))
    patterns: Matrix = exact((("1/4", "1/2", "1/4"), (0, 0, 1)))
    """For each head, the weight of each neighbour from left to right: not negative, sum 1, an odd number."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        (_, width), heads = _shapes.matrix("x", self.x), len(self.patterns)
        if not heads or width % heads:
            raise ValueError(f"patterns has {heads} heads: they need to divide the {width} columns of x")
        sizes = sorted({len(pattern) for pattern in self.patterns})
        if len(sizes) != 1 or sizes[0] % 2 == 0 or sizes[0] > len(self.x):
            needs = f"they need one odd length, at most the {len(self.x)} rows of x"
            raise ValueError(f"patterns have lengths {sizes}: {needs}")
        for number, pattern in enumerate(self.patterns, 1):
            if sum(pattern) != 1 or min(pattern) < 0:
                has = f"sum {sum(pattern)} and smallest weight {min(pattern)}"
                raise ValueError(f"pattern {number} has {has}: it needs sum 1 and no weight below 0")
        return self

    @property
    def dims(self) -> tuple[int, int, int, int]:
        """N, D, H and K."""
        return len(self.x), len(self.x[0]), len(self.patterns), len(self.patterns[0])


def solve(question: Question) -> Iterator[Step | Answer]:
    """What a head mixes, the same as a convolution, and what both cost."""
    _, width, heads, taps = question.dims
    share = width // heads
    attention = [_attention(question, pattern) for pattern in question.patterns]
    yield Step(
        says=f"Each of the {heads} heads gets {share} of the {width} channels of queries, keys and values, weighs "
        "tokens in its own way, and nothing passes from head to head before the output map joins them.",
        formula=r"H = [H_1; \dots; H_h]\, W_o, \qquad "
        rf"H_i = \operatorname{{softmax}}\left(\frac{{Q_i K_i^T}}{{\sqrt{{{share}}}}}\right) V_i",
        value=attention,
        figure=_heatmap(attention),
    )
    output = _mixed(question, attention)
    yield Step(
        says=f"The heads' weights here depend only on the offset, {taps} neighbours each. One weight per neighbour for "
        f"a share of {share} channels: a Conv1d with groups = {heads} whose channels in a group share one filter.",
        formula=rf"[A_1 X_1, \dots, A_h X_h] = {_board.matrix(output)}",
        value=output,
    )
    parameters = {"attention": 4 * width**2, "attention_one_head": 4 * width**2, "convolution": taps * width**2}
    parameters["grouped_convolution"] = taps * width * share
    yield Step(
        says="Both split the channels, work side by side and leave the joining to a later map of all channels. They "
        f"differ in price: groups divide the weights of a convolution by {heads}, while {heads} heads have as many as "
        f"one, {parameters['attention']}, since each reads the whole width. That heads save parameters is the common "
        "mistake.",
        formula=rf"4 D^2 = {4 * width**2}, \qquad K D^2 = {taps * width**2} \to \frac{{K D^2}}{{{heads}}} = "
        rf"{taps * width**2 // heads}",
        value=parameters,
    )
    once, twice = (_self_weight(question, factor) for factor in (1, 2))
    yield Step(
        says="They differ in what they know, too: filters are the same for every input. A head that compares the "
        f"tokens themselves gives the first token the weight {once:.4g} for itself, and {twice:.4g} when the input is "
        f"doubled; a filter's {question.patterns[0][taps // 2]} stays what it is.",
        value={"weight": once, "weight of the doubled input": twice},
    )
    yield Answer(fields={"output": output, "parameters": parameters})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """A grouped convolution and this package's kernel for the numbers, modules for the parameters."""
    import torch

    from vitruvius import kernels
    from vitruvius.nn.attention import MultiHeadAttention

    tokens, width, heads, taps = question.dims
    x = torch.tensor(question.x, dtype=torch.float64)
    patterns = torch.tensor(question.patterns, dtype=torch.float64)
    convolved = _grouped(x, patterns)
    yield agree("output", f"torch.nn.functional.conv1d with groups = {heads}", answer["output"], convolved)
    offsets = torch.arange(tokens)[None] - torch.arange(tokens)[:, None] + taps // 2
    places = offsets % tokens  # which tap reads token j from place i; beyond the taps there is none
    mask = torch.nn.functional.pad(patterns, (0, tokens - taps))[:, places].log()
    values = x.view(tokens, heads, -1).transpose(0, 1)[None]
    mixed = kernels.get("softmax").attend(torch.zeros_like(values), torch.zeros_like(values), values, mask)
    joined = mixed[0].transpose(0, 1).flatten(1)
    yield agree("output", "the softmax kernel with the weights as a mask", answer["output"], joined)
    with torch.device("meta"):  # shapes without memory
        layers = {
            "attention": MultiHeadAttention(width, heads, width // heads, out_bias=False),
            "attention_one_head": torch.nn.MultiheadAttention(width, 1, bias=False),
            "convolution": torch.nn.Conv1d(width, width, taps, bias=False),
            "grouped_convolution": torch.nn.Conv1d(width, width, taps, groups=heads, bias=False),
        }
    counts = {name: sum(p.numel() for p in layer.parameters()) for name, layer in layers.items()}
    yield agree("parameters", "the modules themselves", answer["parameters"], counts)


def _attention(question: Question, pattern: Any) -> list[list[Fraction]]:
    """The weights of a head as a matrix: row i holds the pattern around place i."""
    tokens, reach = len(question.x), len(pattern) // 2
    rows = [[Fraction(0)] * tokens for _ in range(tokens)]
    for place, row in enumerate(rows):
        for offset, weight in enumerate(pattern, -reach):
            row[(place + offset) % tokens] += weight
    return rows


def _self_weight(question: Question, factor: int) -> float:
    """What a head over the first share of channels, with queries and keys as they are, gives the first token."""
    share = question.dims[1] // question.dims[2]
    tokens = [[factor * float(value) for value in row[:share]] for row in question.x]
    scores = [sum(a * b for a, b in zip(tokens[0], token, strict=True)) / share**0.5 for token in tokens]
    powers = [math.exp(score - max(scores)) for score in scores]
    return powers[0] / sum(powers)


def _mixed(question: Question, attention: list[list[list[Fraction]]]) -> list[list[Fraction]]:
    """Each head's weights applied to its share of the channels."""
    _, width, heads, _ = question.dims
    columns = list(zip(*question.x, strict=True))
    return [
        [
            sum((a * b for a, b in zip(attention[c * heads // width][place], columns[c], strict=True)), Fraction(0))
            for c in range(width)
        ]
        for place in range(len(question.x))
    ]


def _grouped(x_ND: "Tensor", patterns_HK: "Tensor") -> "Tensor":
    """The same by a convolution whose filters pass each channel of a group through the group's pattern."""
    import torch
    from torch.nn import functional

    (heads, taps), share = patterns_HK.shape, x_ND.shape[1] // len(patterns_HK)
    same = torch.eye(share, dtype=torch.float64)
    filters = torch.einsum("hk,oi->hoik", patterns_HK, same).reshape(heads * share, share, taps)
    around = functional.pad(x_ND.T[None], (taps // 2, taps // 2), mode="circular")
    return functional.conv1d(around, filters, groups=heads)[0].T


def _heatmap(attention: list[list[list[Fraction]]]) -> Heatmap:
    count = len(attention[0])
    return Heatmap(
        title="Weights of every head",
        values=tuple(tuple(map(float, row)) for head in attention for row in head),
        rows=tuple(f"head {h} token {i}" for h in range(1, len(attention) + 1) for i in range(1, count + 1)),
        columns=tuple(f"token {i}" for i in range(1, count + 1)),
    )
