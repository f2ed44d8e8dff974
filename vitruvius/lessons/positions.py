r"""Without positions attention does not know the order; the sinusoidal table, and why it turns like a clock.

The table (Vaswani et al. 2017) holds $\sin(p\,\omega_i)$ and $\cos(p\,\omega_i)$ side by side, with
$\omega_i = 10000^{-2i/D}$. Moving by o places turns each pair by the angle $o\,\omega_i$, wherever one starts:
$P_{p+o} = R_o P_p$. Rows of `x` are tokens. N tokens, D width.
"""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from pydantic import Field, model_validator

from vitruvius import lessons
from vitruvius.core.blocks import Heatmap
from vitruvius.lessons import Answer, Matrix, Proof, Step, _board, _shapes, exact
from vitruvius.lessons._proofs import agree

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

SUBJECT = "attention"
"""Tokens, and entries of a token."""
SAME = 1e-9
"""Difference, as part of the largest entry, up to which two outputs count as equal."""


class Question(lessons.Question):
    """Four tokens of width 4 and a reordering of them."""

    x: Matrix = exact(((1, 0, 2, 1), (0, 1, 1, 0), (2, 1, 0, 0), (1, 1, 0, 2)))
    order: tuple[int, ...] | None = None
    """Which token, counted from 0, comes to each place in the reordered input; null: the other way round."""
    offset: Annotated[int, Field(ge=-1000, le=1000)] = 2
    """The move along the sequence whose rotation is worked out."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        _, width = _shapes.matrix("x", self.x, least=2)
        if width % 2:
            raise ValueError(f"x has {width} columns: it needs an even number, a sine and a cosine each")
        if sorted(self.places) != list(range(len(self.x))) or self.places == sorted(self.places):
            needs = f"it needs each of 0 to {len(self.x) - 1} once, not all in their own places"
            raise ValueError(f"order is {self.places}: {needs}")
        return self

    @property
    def places(self) -> list[int]:
        """Which token comes to each place."""
        return list(range(len(self.x)))[::-1] if self.order is None else list(self.order)


def solve(question: Question) -> Iterator[Step | Answer]:
    """Reorder without positions and with them, then the table itself and its rotation."""
    x, places = np.array(question.x, float), question.places
    count, width = x.shape
    table = _table(range(count), width)
    gaps = {name: _gap(x, added, places) for name, added in (("without", 0 * table), ("with", table))}
    yield from _order_steps(question, gaps)
    yield _table_step(table)
    rotation = _rotation(question.offset, width)
    yield _rotation_step(question, table, rotation)
    parameters = {"learned": count * width, "sinusoidal": 0}
    beyond = _table([count], width)[0]
    yield Step(
        says=f"A learned table is {count} x {width} = {count * width} parameters and ends after place {count - 1}; the "
        f"sinusoidal one has 0 and goes on, its next row begins with {beyond[0]:.4g}. A ViT learns its table: images "
        "have a fixed number of patches, and neighbourhood in two directions is found from the data.",
        formula=rf"P_{{{count}}} = {_board.row(beyond.tolist())}",
        value=parameters,
    )
    yield Answer(
        fields={
            "equivariant": {name: gap <= SAME * float(np.abs(x).max()) for name, gap in gaps.items()},
            "gap": gaps["with"],
            "table": table.tolist(),
            "rotation": rotation.tolist(),
            "parameters": parameters,
        }
    )


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """This package's kernel and table, complex exponentials, and the exponential of a generator of rotations."""
    import torch

    from vitruvius import kernels
    from vitruvius.nn.vit import sinusoidal

    x = torch.tensor(question.x, dtype=torch.float64)
    count, width = x.shape
    omega = 10_000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    turns = torch.polar(torch.ones(1, dtype=torch.float64), torch.arange(count)[:, None] * omega)
    table = torch.stack([turns.imag, turns.real], dim=2).flatten(1)
    yield agree("table", "imaginary and real parts of complex exponentials", answer["table"], table)
    yield agree("table", "vitruvius.nn.vit.sinusoidal, in float32", answer["table"], sinusoidal(count, width), 2e-7)
    generator = torch.kron(omega.diag(), torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64))
    turned = torch.linalg.matrix_exp(question.offset * generator)
    yield agree("rotation", "exponential of the generator", answer["rotation"], turned)
    later = torch.polar(torch.ones(1, dtype=torch.float64), (torch.arange(count) + question.offset)[:, None] * omega)
    moved = table @ torch.tensor(answer["rotation"], dtype=torch.float64).T
    yield agree("the rotation moves every place", "complex exponentials", moved[:, 1::2], later.real)
    softmax = kernels.get("softmax")

    def reordered(tokens: torch.Tensor, added: torch.Tensor) -> float:
        before, after = (rows[None, None] for rows in (tokens + added, tokens[question.places] + added))
        gap = softmax.attend(after, after, after)[0, 0] - softmax.attend(before, before, before)[0, 0, question.places]
        return float(gap.abs().max())

    gaps = {"without": reordered(x, torch.zeros_like(x)), "with": reordered(x, table)}
    same = {name: gap <= SAME * float(x.abs().max()) for name, gap in gaps.items()}
    yield agree("equivariant", "the softmax kernel of this package", answer["equivariant"], same)
    yield agree("gap", "the softmax kernel of this package", answer["gap"], gaps["with"])
    learned = torch.nn.Embedding(count, width, device="meta").weight.numel()
    yield agree("parameters", "torch.nn.Embedding", answer["parameters"], {"learned": learned, "sinusoidal": 0})


def _order_steps(question: Question, gaps: dict[str, float]) -> Iterator[Step]:
    yield Step(
        says=f"Reorder the {len(question.x)} tokens as {question.places}, counted from 0. Every sum over tokens has "
        "the same terms in "
        f"another order, so the outputs are the same vectors, reordered: the difference is {gaps['without']:.1g}, "
        "rounding. For a set of things that is what one wants, and no positions are needed.",
        formula=r"f(\Pi x) = \Pi f(x)",
        value=gaps["without"],
    )
    yield Step(
        says="Words and image patches mean something by their place. Add a table of positions to the tokens, and the "
        f"same reordering changes the outputs by up to {gaps['with']:.4g}. A causal mask would tell the order as well.",
        formula=r"f(\Pi x + P) \neq \Pi f(x + P)",
        value=gaps["with"],
    )


def _table_step(table: "Array") -> Step:
    width = table.shape[1]
    slowest = 2 * math.pi * 10_000 ** ((width - 2) / width)
    return Step(
        says=f"The sinusoidal table: {width // 2} clocks, each a sine and a cosine, the first with a period of "
        f"{2 * math.pi:.4g} places, the last with {slowest:.4g}. Near places differ in the fast clocks, far ones in "
        "the slow ones.",
        formula=rf"P = {_board.matrix(table.tolist())}",
        value=table.tolist(),
        figure=Heatmap(
            title="Sinusoidal positions",
            values=tuple(map(tuple, table.tolist())),
            rows=tuple(map(str, range(len(table)))),
            columns=tuple(map(str, range(width))),
            x_label="entry",
            y_label="place",
            numbers=width <= 8,
        ),
    )


def _rotation_step(question: Question, table: "Array", rotation: "Array") -> Step:
    moved = _table([question.offset], table.shape[1])[0]
    alike = float(moved @ table[0])
    return Step(
        says=f"A move by {question.offset} places turns every clock by a fixed angle, whatever place one starts from: "
        f"one matrix does it for all. So a linear map can look {question.offset} places on, and the product of "
        f"two places depends on their distance alone, {alike:.4g} at this one and {table.shape[1] / 2:.4g} at 0.",
        formula=rf"P_{{p + {question.offset}}} = R\, P_p, \qquad R = {_board.matrix(rotation.tolist())}",
        value=rotation.tolist(),
    )


def _table(places: Any, width: int) -> "Array":
    """The sinusoidal positions of some places, (places, D)."""
    rows = []
    for place in places:
        angles = [place * 10_000 ** (-i / width) for i in range(0, width, 2)]
        rows.append([wave(angle) for angle in angles for wave in (math.sin, math.cos)])
    return np.array(rows)


def _rotation(offset: int, width: int) -> "Array":
    """The matrix that moves every sine and cosine by an offset, (D, D)."""
    found = np.zeros((width, width))
    for i in range(0, width, 2):
        angle = offset * 10_000 ** (-i / width)
        found[i : i + 2, i : i + 2] = [[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]]
    return found


def _gap(x: "Array", added: "Array", places: list[int]) -> float:
    """Largest difference between attention over reordered tokens and the reordered attention."""
    return float(np.abs(_attend(x[places] + added) - _attend(x + added)[places]).max())


def _attend(x: "Array") -> "Array":
    """Self-attention with queries, keys and values as they are."""
    score = x @ x.T / math.sqrt(x.shape[1])
    power = np.exp(score - score.max(1, keepdims=True))
    return power / power.sum(1, keepdims=True) @ x
