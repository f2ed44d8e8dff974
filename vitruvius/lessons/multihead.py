"""Multi-head attention by hand: project, compare, weigh, mix, and join the heads.

Shapes: N tokens of x, M tokens of the context, D width, E query and key width, F value width of one head.
With `layout="columns"` a token is a column, every matrix is given and answered transposed, and $Q = W_Q X$.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from pydantic import model_validator

from vitruvius import lessons
from vitruvius.core.blocks import Heatmap
from vitruvius.lessons import Answer, Matrix, Proof, Step, _board, _shapes, _tensors
from vitruvius.lessons._board import short
from vitruvius.lessons._exact import product, root, softmax
from vitruvius.lessons._layout import Layout, Rows, times, turned, written
from vitruvius.lessons._proofs import agree

if TYPE_CHECKING:
    from torch import Tensor

SUBJECT = "attention"
MOST_HEADS, LOWEST = 16, -700.0
NAMES = ("q", "k", "v", "scores", "weights", "heads")
"""What the answer gives of each head."""


def _digits(rows: str) -> Matrix:
    return tuple(tuple(Fraction(digit) for digit in row) for row in rows.split())


class Question(lessons.Question):
    """Tokens and the matrices of every head."""

    x: Matrix = _digits("101211 120111")
    context: Matrix | None = None
    """Where keys and values come from; x itself by default."""
    w_q: tuple[Matrix, ...] = (_digits("100 010 001 110 011 111"), _digits("012 212 121 110 001 010"))
    w_k: tuple[Matrix, ...] = (_digits("110 011 111 012 210 331"), _digits("000 000 000 001 100 131"))
    w_v: tuple[Matrix, ...] = (_digits("321 123 121 212 111 313"), _digits("324 423 001 110 111 313"))
    w_o: Matrix = _digits("100100 010020 111112 222110 210120 000010")
    scaled: bool = True
    """Divide the scores by the root of the key width."""
    layout: Layout = "rows"
    """What a token is in every matrix."""

    @model_validator(mode="before")
    @classmethod
    def _turn_own_numbers(cls, data: Any) -> Any:
        """The lesson's own matrices in the layout that was asked for."""
        if not isinstance(data, dict) or data.get("layout") != "columns":
            return data
        own = {name: cls.model_fields[name].default for name in ("x", "w_o", "w_q", "w_k", "w_v")}
        single = {name: turned("columns", own[name]) for name in ("x", "w_o")}
        return {**single, **{name: [turned("columns", w) for w in own[name]] for name in ("w_q", "w_k", "w_v")}, **data}

    @model_validator(mode="after")
    def _fits(self) -> Self:
        heads = len(self.w_q)
        if not 1 <= heads <= MOST_HEADS or {len(self.w_k), len(self.w_v)} != {heads}:
            counts = f"w_q has {heads} heads, w_k {len(self.w_k)} and w_v {len(self.w_v)}"
            raise ValueError(f"{counts}: each needs one matrix per head, 1 to {MOST_HEADS}")
        width, other = self._size("x", self.x)[1], self._size("context", self.tokens)[1]
        joined = 0
        for index in range(heads):
            head = f"of head {index + 1}"
            queries = self._size(f"w_q {head}", self.w_q[index], width, "entry of a token of x")[1]
            keys = self._size(f"w_k {head}", self.w_k[index], other, "entry of a token of the context")[1]
            if queries != keys:
                raise ValueError(f"w_q {head} makes queries of {queries} numbers, w_k keys of {keys}: they must agree")
            joined += self._size(f"w_v {head}", self.w_v[index], other, "entry of a token of the context")[1]
        self._size("w_o", self.w_o, joined, f"entry of the {heads} heads side by side")
        return self

    @property
    def tokens(self) -> Matrix:
        """Where keys and values come from."""
        return self.x if self.context is None else self.context

    def turned(self, matrix: Sequence[Sequence[Any]]) -> Rows:
        """A matrix from the question's layout to rows, or back."""
        return turned(self.layout, matrix)

    def _size(self, field: str, matrix: Matrix, needed: int | None = None, per: str = "") -> tuple[int, int]:
        """Rows and columns when tokens are rows; `needed` rows are asked for, one for each `per`."""
        size = _shapes.matrix(field, matrix)
        rows, columns = size if self.layout == "rows" else size[::-1]
        if needed is not None and rows != needed:
            raise ValueError(f"{field} is {size[0]} x {size[1]}: it needs {needed} {self.layout}, one per {per}")
        return rows, columns


class Head(NamedTuple):
    """What one head computes, tokens as rows."""

    q: Rows
    k: Rows
    v: Rows
    products: Rows  # q k^T, exact
    scores: Rows  # exact if the root of the key width is
    weights: Rows
    heads: Rows  # the head's output


def solve(question: Question) -> Iterator[Step | Answer]:
    """Head by head, then the heads together."""
    x, tokens, layout = question.turned(question.x), question.turned(question.tokens), question.layout
    yield Step(
        says=f"{len(x)} tokens of {len(x[0])} numbers meet {len(question.w_q)} heads. Each head has its own matrices "
        f"for queries, keys and values, and compares every query with all {len(tokens)} keys.",
        formula=rf"S_i = {_scores(question, 'i', 'd_k')}, \quad A_i = \operatorname{{softmax}}(S_i), \quad "
        rf"H_i = {times(question.layout, 'A_i', 'V_i')}",
        value=[len(x), len(tokens), len(x[0])],
    )
    heads = []
    for index in range(len(question.w_q)):
        heads.append(_head(question, x, tokens, index))
        yield from _head_steps(question, heads[-1], index)
    joined = [[value for part in parts for value in part] for parts in zip(*(h.heads for h in heads), strict=True)]
    output = product(joined, question.turned(question.w_o))
    yield Step(
        says=f"Put the {len(heads)} heads side by side, {len(joined[0])} numbers per token, and mix them with W^O into "
        f"{len(output[0])}: the output of the block.",
        formula=rf"O = {times(layout, 'H', 'W^O')} = "
        rf"{times(layout, written(layout, joined), _board.matrix(question.w_o))} = {written(layout, output)}",
        value=output,
    )
    yield _scaling_step(heads)
    parts = {name: [question.turned(getattr(head, name)) for head in heads] for name in NAMES}
    yield Answer(fields={**parts, "output": question.turned(output)})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """Torch in double precision, its own attention, and the product's kernel and module."""
    import torch
    from torch.nn import functional

    def tensor(matrix: Any) -> "Tensor":
        return _tensors.tensor(question.turned(matrix))

    x_ND, context_MD = tensor(question.x), tensor(question.tokens)
    parts: list[tuple[Tensor, ...]] = []
    for w_q, w_k, w_v in zip(question.w_q, question.w_k, question.w_v, strict=True):
        q, k, v = x_ND @ tensor(w_q), context_MD @ tensor(w_k), context_MD @ tensor(w_v)
        beta = k.shape[-1] ** -0.5 if question.scaled else 1.0
        scores = torch.einsum("ne,me->nm", q, k) * beta
        attended = functional.scaled_dot_product_attention(q, k, v, scale=beta)
        by_kernel = _tensors.attend("softmax", q, k, v, beta=beta)
        parts.append((q, k, v, scores, scores.softmax(-1), attended, scores.log_softmax(-1), by_kernel))
    *columns, logarithms, by_kernel_of = (list(column) for column in zip(*parts, strict=True))
    claimed = {name: [tensor(matrix) for matrix in answer[name]] for name in NAMES}
    output = tensor(answer["output"])
    yield agree("every head", "torch's attention in double precision", list(claimed.values()), columns)
    # Weights far below one are compared by their logarithms, down to the smallest number a double holds.
    logs = [weights.log().clamp(min=LOWEST) for weights in claimed["weights"]]
    yield agree("weights", "torch.log_softmax", logs, [part.clamp(min=LOWEST) for part in logarithms])
    yield agree("heads", "vitruvius.kernels.softmax", claimed["heads"], by_kernel_of)
    yield agree("output", "torch products", output, torch.cat(columns[-1], 1) @ tensor(question.w_o))
    if question.context is None and question.scaled and len({part.shape for qkv in parts for part in qkv[:3]}) == 1:
        yield agree("output", "vitruvius.nn.MultiHeadAttention", output, _by_module(question, tensor))


def _by_module(question: Question, tensor: Any) -> "Tensor":
    """The product's own multi-head attention with the question's matrices as its weights."""
    import torch

    from vitruvius.nn.attention import MultiHeadAttention

    width, head_dim = tensor(question.w_q[0]).shape
    with torch.random.fork_rng(devices=[]), torch.no_grad():  # the drawn weights are replaced
        module = MultiHeadAttention(width, len(question.w_q), head_dim, out_bias=False).double()
        rows = [tensor(w).T for group in (question.w_q, question.w_k, question.w_v) for w in group]
        module.qkv.weight.copy_(torch.cat(rows))
        module.out.weight = torch.nn.Parameter(tensor(question.w_o).T)
        return module(tensor(question.x)[None])[0]


def _head(question: Question, x: Rows, tokens: Rows, index: int) -> Head:
    q = product(x, question.turned(question.w_q[index]))
    k, v = (product(tokens, question.turned(w[index])) for w in (question.w_k, question.w_v))
    products = product(q, list(zip(*k, strict=True)))
    divisor = root(len(k[0])) if question.scaled else 1
    scores = [[value / divisor for value in row] for row in products]
    weights = [softmax(row) for row in scores]
    return Head(q, k, v, products, scores, weights, product(weights, v))


def _head_steps(question: Question, head: Head, index: int) -> Iterator[Step]:
    i, width = index + 1, len(head.k[0])
    lines = []
    for letter, result in zip("QKV", head[:3], strict=True):
        name = "X" if letter == "Q" or question.context is None else "C"
        matrix = question.x if name == "X" else question.tokens
        names = times(question.layout, name, f"W_{i}^{letter}")
        weights = _board.matrix(getattr(question, f"w_{letter.lower()}")[index])
        numbers = times(question.layout, _board.matrix(matrix), weights)
        lines.append(rf"{letter}_{i} = {names} = {numbers} = {written(question.layout, result)}")
    yield Step(
        says=f"Head {i}: queries, keys and values, one of each per token; the first query is {short(head.q[0])}.",
        formula=r" \quad ".join(lines),
        value={"q": head.q, "k": head.k, "v": head.v},
    )
    divided = f", divided by the root of {width}, the number of products in each" if question.scaled else ""
    over = rf"\frac{{1}}{{\sqrt{{{width}}}}} {written(question.layout, head.products)} = " if question.scaled else ""
    yield Step(
        says=f"Head {i}: every query times every key, {head.products[0][0]} for the first two{divided}.",
        formula=rf"S_{i} = {_scores(question, str(i), str(width))} = {over}{written(question.layout, head.scores)}",
        value=head.scores,
    )
    yield Step(
        says=f"Head {i}: softmax over the keys of each query, so that its weights add up to 1. The first query gives "
        f"{max(head.weights[0]):.6g} to its best key.",
        formula=rf"{_first_weight(head, width if question.scaled else 1)}, \quad "
        rf"A_{i} = {written(question.layout, head.weights)}",
        value=head.weights,
        figure=Heatmap(title=f"Weights of head {i}: query by key", values=tuple(map(tuple, head.weights))),
    )
    yield Step(
        says=f"Head {i}: mix the {len(head.v)} values with these weights: the output of head {i}.",
        formula=rf"H_{i} = {times(question.layout, f'A_{i}', f'V_{i}')} = {written(question.layout, head.heads)}",
        value=head.heads,
    )


def _scaling_step(heads: list[Head]) -> Step:
    """What the division by the root is for, in this instance."""
    scaled, plain = (
        [max(max(softmax([float(p) / len(h.k[0]) ** power for p in row])) for row in h.products) for h in heads]
        for power in (0.5, 0.0)
    )
    return Step(
        says=f"What the division is for: the largest weights of the heads are {short(scaled)} with it and "
        f"{short(plain)} without. The common mistake is to leave it out, or to divide by the root of the token's "
        "width instead of the key's.",
        value={"with": scaled, "without": plain},
    )


def _first_weight(head: Head, square: int) -> str:
    """The first weight of the first query, its exponentials as they stand."""
    root_sign = "" if square == 1 else rf"/\sqrt{{{square}}}"
    powers = [rf"e^{{{value}{root_sign}}}" for value in head.products[0]]
    powers[6:] = [r"\dots"] if len(powers) > 6 else []
    return rf"a_{{11}} = \frac{{{powers[0]}}}{{{' + '.join(powers)}}} = {_board.number(head.weights[0][0])}"


def _scores(question: Question, index: str, width: str) -> str:
    product_of = rf"Q_{index} K_{index}^\top" if question.layout == "rows" else rf"K_{index}^\top Q_{index}"
    return rf"\frac{{{product_of}}}{{\sqrt{{{width}}}}}" if question.scaled else product_of
