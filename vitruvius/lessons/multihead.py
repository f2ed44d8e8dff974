"""Multi-head attention by hand: project, compare, weigh, mix, and join the heads.

Shapes: N tokens of x, M tokens of the context, D width, E query and key width, F value width of one head.
With `layout="columns"` a token is a column, every matrix is given and answered transposed, and $Q = W_Q X$.
"""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from operator import matmul, truediv
from random import Random
from typing import Annotated, Any, Literal

import numpy as np
import torch
from pydantic import model_validator
from torch import Tensor
from torch.nn import functional

from vitruvius import lessons
from vitruvius.lessons import Answer, Attempt, Board, Matrix, Proof, Step, latex
from vitruvius.lessons._draws import whole
from vitruvius.lessons._exact import product, root, softmax
from vitruvius.lessons._figures import heatmap
from vitruvius.lessons._proofs import agree
from vitruvius.lessons._shapes import measure
from vitruvius.lessons._tensors import Array, arrays, attend, tensor
from vitruvius.lessons._tensors import softmax as softmax_rows
from vitruvius.nn.attention import MultiHeadAttention

SUBJECT = "attention"
TASK = (
    "Multi-head attention by hand. Rows of x are tokens; w_q, w_k and w_v hold one matrix per head "
    "and multiply tokens from the right; scores are divided by the root of the key width. Work out "
    "queries, keys, values, scores, weights and output of every head, and the output of the block."
)
LOWEST = -700.0
"""Logarithm of about the smallest number that a double holds."""
NAMES = ("q", "k", "v", "scores", "weights", "heads")
"""What the answer gives of each head."""
Heads = Annotated[tuple[Matrix, ...], "H"]
Rows = list[list[Any]]


def _digits(rows: str) -> Matrix:
    return tuple(tuple(Fraction(digit) for digit in row) for row in rows.split())


def _heads(*heads: str) -> tuple[Matrix, ...]:
    return tuple(map(_digits, heads))


def _transposed(matrix: Sequence[Sequence[Any]]) -> Matrix:
    return tuple(zip(*matrix, strict=True))


class Question(lessons.Question):
    """Tokens and the matrices of every head."""

    limits = {"H": (1, 16)}
    x: Matrix = _digits("101211 120111")
    context: Matrix | None = None
    """Where keys and values come from; x itself by default."""
    w_q: Heads = _heads("100 010 001 110 011 111", "012 212 121 110 001 010")
    w_k: Heads = _heads("110 011 111 012 210 331", "000 000 000 001 100 131")
    w_v: Heads = _heads("321 123 121 212 111 313", "324 423 001 110 111 313")
    w_o: Matrix = _digits("100100 010020 111112 222110 210120 000010")
    scaled: bool = True
    """Divide the scores by the root of the key width."""
    layout: Literal["rows", "columns"] = "rows"
    """What a token is in every matrix."""

    @model_validator(mode="before")
    @classmethod
    def _turn_own_numbers(cls, data: Any) -> Any:
        """The lesson's own matrices in the layout that was asked for."""
        if not isinstance(data, dict) or data.get("layout") != "columns":
            return data
        own = {name: cls.model_fields[name].default for name in ("x", "w_o", "w_q", "w_k", "w_v")}
        single = {name: _transposed(own.pop(name)) for name in ("x", "w_o")}
        return {**single, **{name: tuple(map(_transposed, heads)) for name, heads in own.items()}, **data}

    def refuse(self) -> None:
        """Widths may differ from head to head, but each head's queries and keys have one width E."""
        c, turn = ("D" if self.context is None else "C"), (1 if self.layout == "rows" else -1)
        fields = [("x", "N D", self.x), ("context", "M C", self.context), ("w_o", "J O", self.w_o)]
        for name, shape in (("w_q", "D E"), ("w_k", f"{c} E"), ("w_v", f"{c} F")):
            heads = enumerate(getattr(self, name), 1)
            fields += [(f"{name} of head {i}", f"{shape}{i}", matrix) for i, matrix in heads]
        sizes = measure([(name, " ".join(shape.split()[::turn]), value) for name, shape, value in fields], {})
        joined, (rows, _) = sum(size for dim, (size, _) in sizes.items() if dim[0] == "F"), sizes["J"]
        if rows != joined:
            raise ValueError(f"w_o has {rows} {self.layout}: it needs {joined}, the heads side by side")

    @property
    def tokens(self) -> Matrix:
        """Where keys and values come from."""
        return self.x if self.context is None else self.context

    def turned(self, matrix: Sequence[Sequence[Any]]) -> Rows:
        """A matrix from the question's layout to rows, or back."""
        return [list(row) for row in (matrix if self.layout == "rows" else _transposed(matrix))]

    def times(self, left: str, right: str) -> str:
        """A product of rows as it is written in the question's layout: transposed, the order turns round."""
        return f"{left} {right}" if self.layout == "rows" else f"{right} {left}"


def solve(question: Question) -> Iterator[Step | Answer]:
    """Head by head, then the heads together."""
    times, turned, count = question.times, question.turned, len(question.w_q)
    x, tokens = turned(question.x), turned(question.tokens)
    board = Board(tokens=len(x), width=len(x[0]), count=count, keys=len(tokens), w_o=question.w_o)
    by_rows, source = question.layout == "rows", "X" if question.context is None else "C"
    joined_heads = r"[H_1, \dots, H_h]" if by_rows else r"[H_1; \dots; H_h]"
    line = "row" if by_rows else "column"
    yield board.step(
        "<tokens> tokens of <width> numbers meet <count> heads. Each head has its own matrices for queries, "
        f"keys and values, and compares every query with all <keys> keys; each {line} of weights adds up to "
        f"1.",
        rf"Q_i = {times('X', 'W_i^Q')}, \quad K_i = {times(source, 'W_i^K')}, \quad V_i = "
        rf"{times(source, 'W_i^V')}, \quad S_i = {_scores(question, 'i', 'd_k')}, \quad A_i = "
        rf"\operatorname{{softmax}}(S_i), \quad H_i = "
        rf"{times('A_i', 'V_i')}, \quad O = {times(joined_heads, 'W^O')}",
        [len(x), len(tokens), len(x[0])],
    )
    heads = [_head(question, index) for index in range(count)]
    for head in heads:
        yield from _head_steps(question, head)
    joined: Rows = [sum(parts, []) for parts in zip(*(head["heads"] for head in heads), strict=True)]
    output = product(joined, turned(question.w_o))
    board |= {"joined": turned(joined), "output": turned(output)}
    board |= {"numbers": len(joined[0]), "out": len(output[0])}
    yield board.step(
        "Put the <count> heads side by side, <numbers> numbers per token, and mix them with W^O into <out>: "
        "the output of the block.",
        f"O = {times('H', 'W^O')} = {times('<joined>', '<w_o>')} = <output>",
        output,
    )
    board |= {"with": [_largest(h, 0.5) for h in heads], "without": [_largest(h, 0.0) for h in heads]}
    yield board.step(
        "What the division is for: the largest weights of the heads are <with> with it and <without> "
        "without. The common mistake is to leave it out, or to divide by the root of the token's width "
        "instead of the key's.",
        value="with without",
    )
    parts = {name: [turned(head[name]) for head in heads] for name in NAMES}
    yield Answer(fields={**parts, "output": board["output"]})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """Torch in double precision, its own attention, and the product's kernel and module."""

    def rows(matrix: Any) -> Tensor:
        return tensor(question.turned(matrix))

    x_ND, context_MD = rows(question.x), rows(question.tokens)
    parts: list[tuple[Tensor, ...]] = []
    for w_q, w_k, w_v in zip(question.w_q, question.w_k, question.w_v, strict=True):
        q, k, v = x_ND @ rows(w_q), context_MD @ rows(w_k), context_MD @ rows(w_v)
        beta = k.shape[-1] ** -0.5 if question.scaled else 1.0
        scores = torch.einsum("ne,me->nm", q, k) * beta
        attended = functional.scaled_dot_product_attention(q, k, v, scale=beta)
        by_kernel = attend("softmax", q, k, v, beta=beta)
        parts.append((q, k, v, scores, scores.softmax(-1), attended, scores.log_softmax(-1), by_kernel))
    *columns, logarithms, by_kernels = (list(column) for column in zip(*parts, strict=True))
    claimed = {name: [rows(matrix) for matrix in answer[name]] for name in NAMES}
    output = rows(answer["output"])
    yield agree("every head", "torch's attention in double precision", list(claimed.values()), columns)
    # Weights far below one are compared by their logarithms, down to the smallest number a double holds.
    logs = [weights.log().clamp(min=LOWEST) for weights in claimed["weights"]]
    yield agree("weights", "torch.log_softmax", logs, [part.clamp(min=LOWEST) for part in logarithms])
    yield agree("heads", "vitruvius.kernels.softmax", claimed["heads"], by_kernels)
    yield agree("output", "torch products", output, torch.cat(columns[-1], 1) @ rows(question.w_o))
    alike = len({part.shape for qkv in parts for part in qkv[:3]}) == 1
    if question.context is None and question.scaled and alike:
        yield agree("output", "vitruvius.nn.MultiHeadAttention", output, _by_module(question, rows))


def attempt(question: Question, write: Attempt) -> None:
    """Head by head: maps, scores, weights, mixtures; then the block."""
    turned = question.turned
    x, tokens = arrays(turned(question.x), turned(question.tokens))
    w_q, w_k, w_v = ([np.array(turned(w), float) for w in getattr(question, f"w_{part}")] for part in "qkv")

    def shown(heads: Any) -> list[Array]:
        return [np.array(turned(head)) for head in heads]

    def written(name: str, heads: Any, what: str, ask: str, formula: str, **mistakes: Any) -> list[Array]:
        """Write down a matrix of each head in the question's layout; what comes back has tokens as rows."""
        possible: Any = {key: (says, shown(wrong)) for key, (says, wrong) in mistakes.items()}
        found = write(name, shown(heads), what, ask, formula, **possible)
        return [np.array(turned(np.asarray(head).tolist()), float) for head in found]

    def mapped(name: str, rows: Any, maps: Any, others: Any) -> list[Array]:
        mistakes: dict[str, Any] = {
            f"{name}_swapped": ("the matrix of another part is taken", [rows @ w for w in others]),
            f"{name}_heads": ("the heads are exchanged", [rows @ w for w in maps[::-1]]),
        }
        return written(
            name,
            [rows @ w for w in maps],
            {"q": "queries", "k": "keys", "v": "values"}[name] + " of each head, one per token",
            "Which matrix of the head maps the tokens?",
            rf"{name.upper()}_i = X W_i^{name.upper()}",
            **mistakes,
        )

    q, k, v = mapped("q", x, w_q, w_k), mapped("k", tokens, w_k, w_q), mapped("v", tokens, w_v, w_k)
    pairs = [a @ b.T for a, b in zip(q, k, strict=True)]
    roots = [b.shape[1] ** 0.5 if question.scaled else 1.0 for b in k]
    divided = list(map(truediv, pairs, roots))
    scores = written(
        "scores",
        divided,
        "scores of each head, a row per query",
        "What is divided by the root of which width?",
        r"S_i = \frac{Q_i K_i^T}{\sqrt{d_k}}",
        unscaled=("the scores are not divided by the root of the key width", pairs),
        by_width=("the key width is divided by, not its root", list(map(truediv, divided, roots))),
        token_width=("the root of the token's width is divided by", [s / x.shape[1] ** 0.5 for s in pairs]),
    )
    weights = written(
        "weights",
        map(softmax_rows, scores),
        "weights of each head, a row per query",
        "Over what does the softmax run: over the keys of a query, or over the queries of a key?",
        r"A_i = \operatorname{softmax}(S_i)",
        columns=("the softmax runs over the queries", [softmax_rows(s.T).T for s in scores]),
    )
    heads = written(
        "heads",
        map(matmul, weights, v),
        "output of each head, one row per token",
        "What is mixed with the weights?",
        r"H_i = A_i V_i",
        keys=("the keys are mixed instead of the values", map(matmul, weights, k)),
    )
    w_o = np.array(turned(question.w_o), float)
    joined = np.concatenate(heads, axis=1)
    turned_heads = np.concatenate(heads[::-1], axis=1)
    write(
        "output",
        np.array(turned((joined @ w_o).tolist())),
        "output of the block, one row per token",
        "How are the heads joined before the last map?",
        r"O = [H_1, \dots, H_h] W^O",
        no_map=("the output map is left out", np.array(turned(joined.tolist()))),
        order=("the heads are joined in the wrong order", np.array(turned((turned_heads @ w_o).tolist()))),
    )


def draw(random: Random) -> dict[str, Any]:
    """Two tokens of six numbers, two heads of width 3."""
    given = {f"w_{part}": whole(random, -1, 1, 2, 6, 3) for part in "qk"}
    given["w_v"] = whole(random, 0, 3, 2, 6, 3)
    return given | {"x": whole(random, -1, 1, 2, 6), "w_o": whole(random, 0, 2, 6, 6)}


def _by_module(question: Question, rows: Callable[[Any], Tensor]) -> Tensor:
    """The product's own multi-head attention with the question's matrices as its weights."""
    width, head_dim = rows(question.w_q[0]).shape
    with torch.random.fork_rng(devices=[]), torch.no_grad():  # the drawn weights are replaced
        module = MultiHeadAttention(width, len(question.w_q), head_dim, out_bias=False).double()
        maps = [rows(w).T for w in (*question.w_q, *question.w_k, *question.w_v)]
        module.qkv.weight.copy_(torch.cat(maps))
        module.out.weight = torch.nn.Parameter(rows(question.w_o).T)
        return module(rows(question.x)[None])[0]


def _head(question: Question, index: int) -> Board:
    """What one head computes, tokens as rows; the scores are exact if the root of the key width is."""
    given = {"X": question.x, "C": question.tokens}
    given |= {f"w_{part}": getattr(question, f"w_{part}")[index] for part in "qkv"}
    x, tokens, w_q, w_k, w_v = map(question.turned, given.values())
    q, k, v = product(x, w_q), product(tokens, w_k), product(tokens, w_v)
    products, divisor = product(q, _transposed(k)), root(len(k[0])) if question.scaled else 1
    scores = [[value / divisor for value in row] for row in products]
    weights = [softmax(row) for row in scores]
    board = Board(q=q, k=k, v=v, products=products, scores=scores, weights=weights, heads=product(weights, v))
    board["shown"] = {name: question.turned(rows) for name, rows in board.items()}  # in the question's layout
    board |= {**given, "i": index + 1, "width": len(k[0]), "values": len(v), "best": max(weights[0])}
    return board


def _head_steps(question: Question, board: Board) -> Iterator[Step]:
    times, source = question.times, "X" if question.context is None else "C"
    lines = [
        f"{part.upper()}_<i> = {times(name, f'W_<i>^{part.upper()}')} = {times(f'<{name}>', f'<w_{part}>')} "
        f"= <shown[{part}]>"
        for part, name in zip("qkv", ("X", source, source), strict=True)
    ]
    yield board.step(
        "Head <i>: queries, keys and values, one of each per token; the first query is <q[0]>.",
        r" \quad ".join(lines),
        "q k v",
    )
    divided = ", divided by the root of <width>, the number of products in each" if question.scaled else ""
    over = r"\frac{1}{\sqrt{<width>}} <shown[products]> = " if question.scaled else ""
    yield board.step(
        f"Head <i>: every query times every key, <products[0][0]> for the first two{divided}.",
        rf"S_<i> = {_scores(question, '<i>', '<width>')} = {over}<shown[scores]>",
        "scores",
    )
    board["first"] = _first_weight(board, board["width"] if question.scaled else 1)
    yield board.step(
        "Head <i>: softmax over the keys of each query, so that its weights add up to 1. The first query "
        "gives <best> to its best key.",
        r"<first>, \quad A_<i> = <shown[weights]>",
        "weights",
        heatmap(f"Weights of head {board['i']}: query by key", board["weights"], "q", "k"),
    )
    yield board.step(
        "Head <i>: mix the <values> values with these weights: the output of head <i>.",
        f"H_<i> = {times('A_<i>', 'V_<i>')} = {times('<shown[weights]>', '<shown[v]>')} = <shown[heads]>",
        "heads",
    )


def _largest(head: Board, power: float) -> float:
    """The largest weight of a head whose products are divided by this power of the key width."""
    divisor = head["width"] ** power
    return max(max(softmax([float(value) / divisor for value in row])) for row in head["products"])


def _first_weight(head: Board, square: int) -> str:
    """The first weight of the first query, its exponentials as they stand."""
    root_sign = "" if square == 1 else rf"/\sqrt{{{square}}}"
    powers = [rf"e^{{{value}{root_sign}}}" for value in head["products"][0]]
    powers[6:] = [r"\dots"] if len(powers) > 6 else []
    return rf"a_{{11}} = \frac{{{powers[0]}}}{{{' + '.join(powers)}}} = {latex(head['weights'][0][0])}"


def _scores(question: Question, index: str, width: str) -> str:
    product_of = rf"Q_{index} K_{index}^\top" if question.layout == "rows" else rf"K_{index}^\top Q_{index}"
    return rf"\frac{{{product_of}}}{{\sqrt{{{width}}}}}" if question.scaled else product_of
