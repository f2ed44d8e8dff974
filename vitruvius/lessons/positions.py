r"""Without positions attention does not know the order; the sinusoidal table, and why it turns like a clock.

The table (Vaswani et al. 2017) holds $\sin(p\,\omega_i)$ and $\cos(p\,\omega_i)$ side by side, with $\omega_i
= 10000^{-2i/D}$. Moving by o places turns each pair by the angle $o\,\omega_i$, wherever one starts: $P_{p+o}
= R_o P_p$. Rows of `x` are tokens. N tokens, D width."""

import math
from collections.abc import Iterable, Iterator
from random import Random
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from vitruvius import lessons
from vitruvius.core.counted import counted
from vitruvius.lessons import Answer, Attempt, Board, Matrix, Proof, Step, exact, latex
from vitruvius.lessons._draws import whole
from vitruvius.lessons._figures import heatmap
from vitruvius.lessons._proofs import agree
from vitruvius.lessons._tensors import Array, arrays, attend, softmax, tensor
from vitruvius.nn.vit import sinusoidal

SUBJECT = "attention"
TASK = (
    "The sinusoidal table of positions for as many places as x has rows and as many entries as it has "
    "columns (places counted from 0, a sine and a cosine side by side), the largest change of softmax "
    "attention (q = k = v = tokens, scores divided by the root of the width) when the tokens come in "
    "reversed order under these positions, the matrix that moves every place by <offset>, and the "
    "parameters of a learned and of a sinusoidal table."
)
SAME = 1e-9
"""Difference, as part of the largest entry, up to which two outputs count as equal."""


class Question(lessons.Question):
    """Four tokens of width 4 and a reordering of them."""

    limits = {"N": (2, 64)}
    x: Annotated[Matrix, "N D"] = exact(((1, 0, 2, 1), (0, 1, 1, 0), (2, 1, 0, 0), (1, 1, 0, 2)))
    order: tuple[int, ...] | None = None
    """Which token, counted from 0, comes to each place in the reordered input; null: the other way round."""
    offset: Annotated[int, Field(ge=-1000, le=1000)] = 2
    """The move along the sequence whose rotation is worked out."""

    def refuse(self) -> None:
        if (width := self.sizes["D"]) % 2:
            has = counted(width, "column")
            raise ValueError(f"x has {has}: it needs an even number, a sine and a cosine each")
        if sorted(self.places) != list(range(len(self.x))) or self.places == sorted(self.places):
            needs = f"it needs each of 0 to {len(self.x) - 1} once, not all in their own places"
            raise ValueError(f"order is {self.places}: {needs}")

    @property
    def places(self) -> list[int]:
        """Which token comes to each place."""
        return list(range(len(self.x)))[::-1] if self.order is None else list(self.order)


def solve(question: Question) -> Iterator[Step | Answer]:
    """Reorder without positions and with them, then the table itself and its rotation."""
    (x,), places, (count, width) = arrays(question.x), question.places, (len(question.x), question.sizes["D"])
    table = _table(range(count), width)
    gaps = {name: _gap(x, added, places) for name, added in (("without", 0 * table), ("with", table))}
    board = Board(count=count, width=width, places=places, gaps=gaps, gap=gaps["with"], table=table)
    board |= {"of_reordered": _attended(x[places] + table), "reordered": _attended(x + table)[places]}
    board["equivariant"] = {name: gap <= SAME * float(np.abs(x).max()) for name, gap in gaps.items()}
    yield board.step(
        "Reorder the <count> tokens as [<places>], counted from 0. Every sum over tokens has the same terms "
        "in another order, so the outputs are the same vectors, reordered: the difference is "
        "<gaps[without]:.1g>, rounding. For a set of things that is what one wants, and no positions are "
        "needed.",
        r"f(\Pi x) = \Pi f(x)",
        gaps["without"],
    )
    yield board.step(
        "Words and image patches mean something by their place. Add a table of positions to the tokens, and "
        "the same reordering changes the outputs by up to <gap:.4g>. A causal mask would tell the order as "
        "well.",
        r"f(\Pi x + P) \neq \Pi f(x + P): \quad \max \left| <of_reordered> - <reordered> \right| = <gap>",
    )
    yield from _table_steps(board, question.offset)
    yield Answer(fields=board.pick("equivariant gap table rotation parameters"))


def _table_steps(board: Board, offset: int) -> Iterator[Step]:
    table, count, width = board["table"], board["count"], board["width"]
    rows, columns = map(str, range(count)), map(str, range(width))
    labels = {"x_label": "entry", "y_label": "place", "numbers": width <= 8}
    board |= {"clocks": width // 2, "fast": 2 * math.pi}
    board["row"] = _waves(1, width)
    board["slow"] = 2 * math.pi * 10_000 ** ((width - 2) / width)
    yield board.step(
        "The sinusoidal table: <clocks> clocks, each a sine and a cosine, the first with a period of "
        "<fast:.4g> places, the last with <slow:.4g>. Near places differ in the fast clocks, far ones in the "
        "slow ones.",
        r"P_{1} = \left( <row> \right), \quad P = <table>",
        figure=heatmap("Sinusoidal positions", table, rows, columns, **labels),
    )
    board |= {"offset": offset, "rotation": _rotation(offset, width), "self": width / 2}
    angles = [latex(offset * 10_000 ** (-i / width)) for i in range(0, min(width, 8), 2)]
    board["turns"] = r", \quad ".join(
        rf"\begin{{bmatrix}} \cos {a} & \sin {a} \\ -\sin {a} & \cos {a} \end{{bmatrix}}" for a in angles
    )
    board["alike"] = _table([offset], width)[0] @ table[0]
    yield board.step(
        "A move by <offset> places turns every clock by a fixed angle, whatever place one starts from: one "
        "matrix does it for all. So a linear map can look <offset> places on, and the product of two places "
        "depends on their distance alone, <alike:.4g> at this one and <self:.4g> at 0.",
        r"P_{p + <offset>} = R\, P_p, \qquad <turns>, \qquad R = <rotation>",
    )
    board |= {"learned": count * width, "last": count - 1, "beyond": _table([count], width)[0]}
    board["parameters"] = {"learned": count * width, "sinusoidal": 0}
    yield board.step(
        "A learned table is <count> x <width> = <learned> parameters and ends after place <last>; the "
        "sinusoidal one has 0 and goes on, its next row begins with <beyond[0]:.4g>. A ViT learns its table: "
        "images have a fixed number of patches, and neighbourhood in two directions is found from the data.",
        r"<count> \cdot <width> = <learned>, \quad P_{<count>} = <beyond>",
        "parameters",
    )


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """This package's kernel and table, complex numbers, and the exponential of the generator of rotations."""
    x, places = tensor(question.x), question.places
    count, width = x.shape
    omega = 10_000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    one, count_N1 = tensor([1]), torch.arange(count)[:, None]
    turns, later = (torch.polar(one, (count_N1 + moved) * omega) for moved in (0, question.offset))
    table = torch.stack([turns.imag, turns.real], dim=2).flatten(1)
    yield agree("table", "imaginary and real parts of complex exponentials", answer["table"], table)
    ours = sinusoidal(count, width)
    yield agree("table", "vitruvius.nn.vit.sinusoidal, in float32", answer["table"], ours, 2e-7)
    generator = torch.kron(omega.diag(), tensor([[0, 1], [-1, 0]]))
    turned = torch.linalg.matrix_exp(question.offset * generator)
    yield agree("rotation", "exponential of the generator", answer["rotation"], turned)
    moved = table @ tensor(answer["rotation"]).T
    yield agree("the rotation moves every place", "complex exponentials", moved[:, 1::2], later.real)

    def reordered(added: Tensor) -> float:
        before, after = x + added, x[places] + added
        gap = attend("softmax", after, after, after) - attend("softmax", before, before, before)[places]
        return float(gap.abs().max())

    gaps = {"without": reordered(torch.zeros_like(x)), "with": reordered(table)}
    same = {name: gap <= SAME * float(x.abs().max()) for name, gap in gaps.items()}
    yield agree("equivariant", "the softmax kernel of this package", answer["equivariant"], same)
    yield agree("gap", "the softmax kernel of this package", answer["gap"], gaps["with"])
    found = {"learned": torch.nn.Embedding(count, width, device="meta").weight.numel(), "sinusoidal": 0}
    yield agree("parameters", "torch.nn.Embedding", answer["parameters"], found)


def attempt(question: Question, write: Attempt) -> None:
    """The table, the rotation, the parameters."""
    (x,), count, width, offset = arrays(question.x), len(question.x), question.sizes["D"], question.offset
    every = np.arange(count)[:, None] * 10_000.0 ** (-np.arange(width) / width)
    unpaired = np.where(np.arange(width) % 2, np.cos(every), np.sin(every))
    right = _table(range(count), width)
    swapped = right.reshape(count, -1, 2)[:, :, ::-1].reshape(count, width)
    table = write(
        "table",
        right,
        "the table, a row per place",
        "Which angle has a pair of entries, and how does it grow with the place?",
        r"\sin(p \, 10000^{-2i/D}), \; \cos(p \, 10000^{-2i/D})",
        cosine_first=("sine and cosine are exchanged", swapped),
        from_one=("places are counted from 1", _table(range(1, count + 1), width)),
        no_pairs=("every entry has its own angle", unpaired),
    )
    write(
        "gap",
        _gap(x, table, question.places),
        "largest change of attention when the tokens are reordered under these positions",
        "What does attention of the reordered tokens differ from, with the table added?",
        r"\max |f(\Pi x + P) - \Pi f(x + P)|",
        without=("the table is not added", _gap(x, 0 * table, question.places)),
    )
    write(
        "rotation",
        _rotation(offset, width),
        "matrix that moves every place by the offset",
        "By which angle does each pair turn, and in which direction?",
        r"\begin{bmatrix} \cos & \sin \\ -\sin & \cos \end{bmatrix} \text{ of each } o \, \omega_i",
        backwards=("it turns the other way round", _rotation(-offset, width)),
        one_place=("it moves by one place only", _rotation(1, width)),
    )
    size = count * width
    write(
        "parameters",
        {"learned": size, "sinusoidal": 0},
        "parameters of both kinds of tables",
        "Which numbers does training change?",
        r"N D, \quad 0",
        both=("the sinusoidal table is counted like a learned one", {"learned": size, "sinusoidal": size}),
        class_token=("a place for a class token is added", {"learned": size + width, "sinusoidal": 0}),
    )


def draw(random: Random) -> dict[str, Any]:
    """Three to five tokens of width 4."""
    count = random.randint(3, 5)
    return {"x": whole(random, 0, 2, count, 4), "offset": random.choice((2, 3, 4, 5))}


def _table(places: Iterable[int], width: int) -> Array:
    """The sinusoidal positions of some places, (places, D)."""
    angles = [[place * 10_000 ** (-i / width) for i in range(0, width, 2)] for place in places]
    return np.array([[wave(angle) for angle in row for wave in (math.sin, math.cos)] for row in angles])


def _waves(place: int, width: int) -> str:
    """The first entries of a row of the table as they are worked out, in LaTeX."""
    angles = [latex(place * 10_000 ** (-i / width)) for i in range(0, width, 2)]
    waves = [wave for angle in angles for wave in (rf"\sin {angle}", rf"\cos {angle}")]
    return r",\, ".join([*waves[:8], r"\dots"] if width > 8 else waves)


def _rotation(offset: int, width: int) -> Array:
    """The matrix that moves every sine and cosine by an offset, (D, D)."""
    found = np.zeros((width, width))
    for i in range(0, width, 2):
        angle = offset * 10_000 ** (-i / width)
        cos, sin = math.cos(angle), math.sin(angle)
        found[i : i + 2, i : i + 2] = [[cos, sin], [-sin, cos]]
    return found


def _gap(x: Array, added: Array, places: list[int]) -> float:
    """Largest difference between attention over reordered tokens and the reordered attention."""
    return float(np.abs(_attended(x[places] + added) - _attended(x + added)[places]).max())


def _attended(tokens: Array) -> Array:
    return np.asarray(softmax(tokens @ tokens.T / math.sqrt(tokens.shape[1])) @ tokens)
