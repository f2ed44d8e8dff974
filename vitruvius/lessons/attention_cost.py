r"""What multi-head self-attention costs: where 4ND^2 + 2N^2D comes from, and when it is exact.

Shapes: N tokens, D width, H heads, E head width, I = H x E inner width. Counted are multiply-adds; softmax, scaling
and biases are not.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field, model_validator

from vitruvius import lessons
from vitruvius.core.blocks import Bars, Lines, Panels, Series
from vitruvius.lessons import Answer, Proof, Step
from vitruvius.lessons._proofs import agree, holds

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

SUBJECT = "vision transformers"
COUNTED_ONE_BY_ONE = 20_000
"""Multiply-adds up to which a proof does every single one."""


class Question(lessons.Question):
    """The size of one attention block."""

    tokens: Annotated[int, Field(ge=1, le=2**24)] = 2
    width: Annotated[int, Field(ge=1, le=2**16)] = 6
    heads: Annotated[int, Field(ge=1, le=2**10)] = 2
    head_dim: Annotated[int, Field(ge=1, le=2**16)] | None = None
    """Query, key and value width of one head; default: width / heads."""

    @model_validator(mode="after")
    def _divides(self) -> Self:
        if self.head_dim is None and self.width % self.heads:
            raise ValueError(f"heads {self.heads} does not divide width {self.width}: needs a divisor, or head_dim")
        return self

    @property
    def inner(self) -> int:
        """Width of all heads together."""
        return self.heads * (self.head_dim or self.width // self.heads)


def solve(question: Question) -> Iterator[Step | Answer]:
    """Part by part, the sum, and the condition."""
    n, d, i = question.tokens, question.width, question.inner
    parts = {**dict.fromkeys(("q", "k", "v"), n * d * i), "scores": n * n * i, "weighted_sum": n * n * i}
    parts["output"] = n * i * d
    yield Step(
        says=f"Queries, keys and values: each of the {n:,} tokens, {d:,} numbers long, is multiplied with a matrix of "
        f"{d:,} x {i:,}, three times. All heads are counted together: side by side they are {i:,} wide.",
        formula=rf"3 \cdot N D I = 3 \cdot {n} \cdot {d} \cdot {i} = {3 * parts['q']}",
        value=3 * parts["q"],
    )
    e = i // question.heads
    yield Step(
        says=f"Scores: in each of the {question.heads} heads every one of {n:,} queries meets every one of {n:,} keys, "
        f"{e:,} products per pair. Mixing the values with the weights takes as many again.",
        formula=rf"2 \cdot H N^2 E = 2 N^2 I = 2 \cdot {n}^2 \cdot {i} = {2 * parts['scores']}",
        value=2 * parts["scores"],
    )
    yield Step(
        says=f"Output: the heads' {i:,} numbers per token go back to {d:,}.",
        formula=rf"N I D = {n} \cdot {i} \cdot {d} = {parts['output']}",
        value=parts["output"],
        figure=_pictures(question, parts),
    )
    total, formula = sum(parts.values()), 4 * n * d**2 + 2 * n**2 * d
    yield Step(
        says=_verdict(question, total, formula),
        formula=rf"4 N D I + 2 N^2 I = {total}, \quad 4 N D^2 + 2 N^2 D = {formula}",
        value={"total": total, "formula": formula},
    )
    yield Step(
        says=f"The part that grows with the square of the tokens overtakes the projections at N = 2 D = {2 * d:,} "
        f"tokens; here it is {2 * parts['scores'] / total:.1%} of all. A FLOP counter that counts a multiplication and "
        f"an addition as two says {2 * total:,}.",
        formula=r"2 N^2 I > 4 N D I \iff N > 2 D",
        value=2 * d,
    )
    yield Answer(fields={"parts": parts, "total": total, "formula": formula, "formula_holds": total == formula})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """Torch's FLOP counter on tensors without memory, the product's own module, and counting one by one."""
    n, d, i = question.tokens, question.width, question.inner
    found = _counted(n, d, question.heads, i)
    yield agree("parts", "torch's FLOP counter, halved", answer["parts"], found)
    yield agree("total", "torch's FLOP counter on vitruvius.nn", answer["total"], _module_count(question))
    one_head = sum(_counted(n, d, 1, d).values())
    yield agree("formula", "torch's FLOP counter with I = D", answer["formula"], one_head)
    fits = i == d
    detail = f"heads x head width = {i}, width = {d}"
    yield holds("the formula holds exactly if I = D", "comparing widths", answer["formula_holds"] is fits, detail)
    if n * d * i + n * n * i <= COUNTED_ONE_BY_ONE:
        yield agree("total", "every multiplication counted", answer["total"], _one_by_one(n, d, question.heads, i))


def _verdict(question: Question, total: int, formula: int) -> str:
    width = f"heads x head width = {question.heads} x {question.inner // question.heads} = {question.inner}"
    if total == formula:
        return (
            f"The sum is the formula, because {width} is the width D of a token. That is the assumption: queries, keys "
            "and values of one head are D / H wide. More heads then cost nothing, and the expression is an exact count "
            "of multiply-adds, not only a bound of its growth."
        )
    return (
        f"The formula does not hold here: {width}, but the width D of a token is {question.width}. It assumes that the "
        f"heads together are as wide as a token; the true count is {total / formula:.4g} times the formula."
    )


def _counted(tokens: int, width: int, heads: int, inner: int) -> dict[str, int]:
    """Multiply-adds of each part by torch's counter; tensors on the meta device have a shape and no memory."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    def count(work: "Callable[[], Tensor]") -> int:
        with FlopCounterMode(display=False) as counter:
            work()
        return counter.get_total_flops() // 2

    def empty(*shape: int) -> "Tensor":
        return torch.empty(shape, device="meta")

    x, projection, back = empty(tokens, width), empty(width, inner), empty(inner, width)
    q = k = v = empty(heads, tokens, inner // heads)
    weights = empty(heads, tokens, tokens)
    return {
        **dict.fromkeys(("q", "k", "v"), count(lambda: x @ projection)),
        "scores": count(lambda: torch.bmm(q, k.mT)),
        "weighted_sum": count(lambda: torch.bmm(weights, v)),
        "output": count(lambda: empty(tokens, inner) @ back),
    }


def _module_count(question: Question) -> int:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    from vitruvius.nn.attention import MultiHeadAttention

    with torch.device("meta"):
        module = MultiHeadAttention(question.width, question.heads, question.inner // question.heads, out_bias=False)
        x_BND = torch.empty(1, question.tokens, question.width)
    # The fused kernel is invisible to the counter; the plain one does the same products one after the other.
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        module(x_BND)
    return counter.get_total_flops() // 2


def _one_by_one(tokens: int, width: int, heads: int, inner: int) -> int:
    """Walk through every product of every sum."""
    count = 0
    for _ in range(tokens):
        for _ in range(inner):
            count += 3 * sum(1 for _ in range(width))  # q, k and v of this token
        for _ in range(width):
            count += sum(1 for _ in range(inner))  # output
    for _ in range(heads):
        for _ in range(tokens):
            for _ in range(tokens):
                count += 2 * sum(1 for _ in range(inner // heads))  # score, then weighted sum
    return count


def _pictures(question: Question, parts: dict[str, int]) -> Panels:
    d, i = question.width, question.inner
    lengths = tuple(float(round(d * 2**power)) or 1.0 for power in range(-2, 6))
    linear = Series(name="projections, 4NDI", x=lengths, y=tuple(4 * n * d * i for n in lengths))
    square = Series(name="all pairs, 2N²I", x=lengths, y=tuple(2 * n * n * i for n in lengths))
    growth = Lines(
        title="Growth with the number of tokens",
        series=(linear, square),
        x_label="tokens N",
        y_label="multiply-adds",
        log_x=True,
        log_y=True,
    )
    values = tuple(float(count) for count in parts.values())
    bars = Bars(title="Multiply-adds of each part", names=tuple(parts), values=values, y_label="multiply-adds")
    return Panels(title="Where the multiply-adds go", figures=(bars, growth))
