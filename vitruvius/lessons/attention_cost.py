r"""What multi-head self-attention costs: where 4ND^2 + 2N^2D comes from, and when it is exact.

Shapes: N tokens, D width, H heads, E head width, I = H x E inner width. Counted are multiply-adds; softmax,
scaling and biases are not."""

from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Annotated, Any

import torch
from pydantic import Field
from torch.nn.attention import SDPBackend, sdpa_kernel

from vitruvius import lessons
from vitruvius.core.blocks import Bars, Panels
from vitruvius.lessons import Answer, Attempt, Board, Proof, Step
from vitruvius.lessons._figures import curves
from vitruvius.lessons._proofs import agree, holds
from vitruvius.lessons._tensors import multiply_adds
from vitruvius.nn.attention import MultiHeadAttention, in_full

SUBJECT = "vision transformers"
TASK = (
    "The cost of multi-head self-attention on <tokens> tokens of width <width> with <heads> heads. "
    "Count the multiply-adds part by part (softmax, scaling and biases not counted), their sum, and "
    "what the formula 4ND^2 + 2N^2D gives."
)
COUNTED_ONE_BY_ONE = 20_000
"""Multiply-adds up to which a proof does every single one."""
WIDTH = "heads x head width = <h> x <e> = <i>"
EXACT = (
    f"The sum is the formula, because {WIDTH} is the width D of a token. That is the assumption: queries, "
    f"keys "
    "and values of one head are D / H wide. More heads then cost nothing, and the expression is an exact "
    "count of multiply-adds, not only a bound of its growth."
)
OTHER = (
    f"The formula does not hold here: {WIDTH}, but the width D of a token is <d>. It assumes that the heads "
    "together are as wide as a token; the true count is <times:.4g> times the formula."
)


class Question(lessons.Question):
    """The size of one attention block."""

    tokens: Annotated[int, Field(ge=1, le=2**24)] = 2
    width: Annotated[int, Field(ge=1, le=2**16)] = 6
    heads: Annotated[int, Field(ge=1, le=2**10)] = 2
    head_dim: Annotated[int, Field(ge=1, le=2**16)] | None = None
    """Query, key and value width of one head; default: width / heads."""

    def refuse(self) -> None:
        if self.head_dim is None and self.width % self.heads:
            divides = f"heads {self.heads} does not divide width {self.width}"
            raise ValueError(f"{divides}: needs a divisor, or head_dim")

    @property
    def lengths(self) -> tuple[int, int, int, int]:
        """Tokens, width, heads, and the width of all heads together."""
        inner = self.heads * (self.head_dim or self.width // self.heads)
        return self.tokens, self.width, self.heads, inner


def solve(question: Question) -> Iterator[Step | Answer]:
    """Part by part, the sum, and the condition."""
    n, d, h, i = question.lengths
    parts = {**dict.fromkeys(("q", "k", "v"), n * d * i), "scores": n * n * i, "weighted_sum": n * n * i}
    parts["output"] = n * i * d
    board = Board(n=n, d=d, h=h, i=i, e=i // h, maps=3 * n * d * i, pairs=2 * n * n * i, **parts)
    board["parts"] = parts
    yield board.step(
        "Queries, keys and values: each of the <n:,> tokens, <d:,> numbers long, is multiplied with a matrix "
        "of <d:,> x <i:,>, three times. All heads are counted together: side by side they are <i:,> wide.",
        r"3 \cdot N D I = 3 \cdot <n> \cdot <d> \cdot <i> = <maps>",
    )
    yield board.step(
        "Scores: in each of the <h> heads every one of <n:,> queries meets every one of <n:,> keys, <e:,> "
        "products per pair. Mixing the values with the weights takes as many again.",
        r"2 \cdot H N^2 E = 2 N^2 I = 2 \cdot <n>^2 \cdot <i> = <pairs>",
    )
    yield board.step(
        "Output: the heads' <i:,> numbers per token go back to <d:,>.",
        r"Q, K, V: N D I = <n> \cdot <d> \cdot <i> = <q>, \quad Q K^T, A V: N^2 I = <n>^2 \cdot <i> = "
        r"<scores>, \quad N I D = <n> \cdot <i> \cdot <d> = <output>",
        figure=_pictures(d, i, parts),
        shows="parts",
    )
    total, formula = sum(parts.values()), 4 * n * d**2 + 2 * n**2 * d
    board |= {"total": total, "formula": formula, "formula_holds": total == formula, "times": total / formula}
    yield board.step(
        EXACT if total == formula else OTHER,
        r"4 N D I + 2 N^2 I = <total>, \quad 4 N D^2 + 2 N^2 D = <formula>",
        "total formula",
    )
    board |= {"even": 2 * d, "share": board["pairs"] / total, "flops": 2 * total}
    yield board.step(
        "The part that grows with the square of the tokens overtakes the projections at N = 2 D = <even:,> "
        "tokens; here it is <share:.1%> of all. A FLOP counter that counts a multiplication and an addition "
        "as two says <flops:,>.",
        r"2 N^2 I > 4 N D I \iff N > 2 D",
        "even",
    )
    yield Answer(fields={"parts": parts, **board.pick("total formula formula_holds")})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """Torch's FLOP counter on tensors without memory, the product's own module, and counting one by one."""
    n, d, h, i = question.lengths
    yield agree("parts", "torch's FLOP counter, halved", answer["parts"], _counted(n, d, h, i))
    with torch.device("meta"):
        module, x_BND = MultiHeadAttention(d, h, i // h, out_bias=False), torch.empty(1, n, d)
    # The fused kernel is invisible to the counter; the plain one does the same products one after the other.
    with torch.no_grad(), in_full(module), sdpa_kernel(SDPBackend.MATH):
        whole = multiply_adds(lambda: module(x_BND))
    yield agree("total", "torch's FLOP counter on vitruvius.nn", answer["total"], whole)
    one_head = sum(_counted(n, d, 1, d).values())
    yield agree("formula", "torch's FLOP counter with I = D", answer["formula"], one_head)
    name, detail = "the formula holds exactly if I = D", f"heads x head width = {i}, width = {d}"
    yield holds(name, "comparing widths", answer["formula_holds"] is (i == d), detail)
    if n * d * i + n * n * i <= COUNTED_ONE_BY_ONE:
        maps = sum(1 for _ in product(range(n), range(i), range(d)))  # q, k, v and the output as many each
        pairs = sum(1 for _ in product(range(h), range(n), range(n), range(i // h)))  # and the weighted sum
        yield agree("total", "every multiplication counted", answer["total"], 4 * maps + 2 * pairs)


def attempt(question: Question, write: Attempt) -> None:
    """The parts, their sum, the formula."""
    n, d, h, i = question.lengths

    def parts(inner: int, pairs: int) -> dict[str, int]:
        maps = dict.fromkeys(("q", "k", "v"), n * d * inner)
        return {**maps, "scores": pairs * i, "weighted_sum": pairs * i, "output": n * inner * d}

    found = write(
        "parts",
        parts(i, n * n),
        "multiply-adds of the maps to q, k and v, of the scores, of the weighted sum and of the output map",
        "How wide are all heads together, and how many pairs of tokens are compared?",
        r"N D I \text{ (q, k, v, output)}, \quad N^2 I \text{ (scores, weighted sum)}, \quad I = H E",
        every_head=("the width of all heads is multiplied with the heads again", parts(i * h, n * n * h)),
        one_way=("every pair of tokens is counted once", parts(i, n * (n + 1) // 2)),
    )
    total = sum(found.values())
    write(
        "total",
        total,
        "all multiply-adds",
        "Which parts are there beside the scores?",
        r"4 N D I + 2 N^2 I",
        no_output=("the output map is forgotten", total - found["output"]),
        flops=("additions are counted beside multiplications", 2 * total),
    )
    write(
        "formula",
        4 * n * d**2 + 2 * n**2 * d,
        "what the formula gives",
        "What are N and D here?",
        r"4 N D^2 + 2 N^2 D",
        exchanged=("N and D are exchanged", 4 * d * n**2 + 2 * d**2 * n),
    )


def draw(random: Random) -> dict[str, Any]:
    """A small block; half of them have heads that are wider or narrower than their share."""
    heads, share = random.randint(2, 5), random.randint(2, 6)
    given = {"tokens": random.randint(3, 12), "width": heads * share, "heads": heads}
    return given | ({"head_dim": share + random.choice((-1, 1, 2))} if random.random() < 0.5 else {})


def _counted(n: int, d: int, h: int, i: int) -> dict[str, int]:
    """Multiply-adds of each part by torch's counter; meta tensors have a shape and no memory."""
    with torch.device("meta"):
        x_ND, inner_NI, into_DI, back_ID = (torch.empty(*size) for size in ((n, d), (n, i), (d, i), (i, d)))
        qkv_HNE, weights_HNN = torch.empty(h, n, i // h), torch.empty(h, n, n)
    return {
        **dict.fromkeys(("q", "k", "v"), multiply_adds(lambda: x_ND @ into_DI)),
        "scores": multiply_adds(lambda: torch.bmm(qkv_HNE, qkv_HNE.mT)),
        "weighted_sum": multiply_adds(lambda: torch.bmm(weights_HNN, qkv_HNE)),
        "output": multiply_adds(lambda: inner_NI @ back_ID),
    }


def _pictures(d: int, i: int, parts: dict[str, int]) -> Panels:
    lengths = [float(round(d * 2**power)) or 1.0 for power in range(-2, 6)]
    growth = {"projections, 4NDI": [4 * length * d * i for length in lengths]}
    growth["all pairs, 2N²I"] = [2 * length * length * i for length in lengths]
    axes, values = ("tokens N", "multiply-adds"), tuple(map(float, parts.values()))
    lines = curves("Growth with the number of tokens", growth, lengths, axes, log="xy")
    bars = Bars(title="Multiply-adds of each part", names=tuple(parts), values=values, y_label=axes[1])
    return Panels(title="Where the multiply-adds go", figures=(bars, lines))
