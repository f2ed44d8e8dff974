"""Average and max pooling by hand, and what they forgive: a shift, a missing pixel."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import chain
from random import Random
from typing import Annotated, Any, Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from vitruvius import lessons
from vitruvius.core.blocks import Pictures
from vitruvius.lessons import Answer, Attempt, Board, Matrix, Proof, Step, exact, latex
from vitruvius.lessons._board import added
from vitruvius.lessons._draws import whole
from vitruvius.lessons._figures import numbered
from vitruvius.lessons._proofs import agree
from vitruvius.lessons._shapes import measure
from vitruvius.lessons._tensors import tensor

SUBJECT = "convolution"
TASK = (
    "Average and max pooling with a window of side <size> and stride <stride>, of each of the given "
    "matrices (windows that would hang over the edge are left out). Then move each matrix one pixel "
    "to the right, zeros coming in: by how much does an entry change on average, for the pixels "
    "themselves and for both poolings?"
)
LARGEST = 32
"""Rows and columns of a matrix."""

Grid = Sequence[Sequence[Fraction]]
FRAMED = ((1, 1, 1, 0, 1), (1, 0, 1, 0, 1), (1, 1, 1, 0, 1), (0, 0, 0, 0, 1), (1, 1, 1, 1, 1))
RING = ((0, 0, 0, 0, 0), (0, 1, 1, 1, 0), (0, 1, 0, 1, 0), (0, 1, 1, 1, 0), (0, 0, 0, 0, 0))


class Pool(NamedTuple):
    """What is taken of each window, its side and how far it moves."""

    kind: str
    size: int
    stride: int

    def starts(self, length: int) -> range:
        """Where windows begin along an axis."""
        return range(0, length - self.size + 1, self.stride)

    def window(self, matrix: Grid, top: int, left: int) -> list[Fraction]:
        """The entries of one window in reading order."""
        return [value for row in matrix[top : top + self.size] for value in row[left : left + self.size]]

    def outputs(self, matrix: Grid, take: Callable[..., Any] | None = None) -> list[list[Fraction]]:
        """The outputs of all windows; `take` makes another number of a window."""
        take, columns = take or (max if self.kind == "max" else _mean), self.starts(len(matrix[0]))
        return [[take(self.window(matrix, i, j)) for j in columns] for i in self.starts(len(matrix))]

    def by_torch(self, image_BHW: Tensor) -> Tensor:
        """The same outputs by torch."""
        pooled = functional.max_pool2d if self.kind == "max" else functional.avg_pool2d
        return pooled(image_BHW, self.size, self.stride)


class Question(lessons.Question):
    """Matrices and the window that pools them."""

    matrix: Matrix | tuple[Matrix, ...] = exact((FRAMED, RING))
    """One matrix, or several."""
    size: Annotated[int, Field(ge=1, le=LARGEST)] = 3
    """Side of the square window."""
    stride: Annotated[int, Field(ge=1, le=LARGEST)] = 2
    kind: Literal["average", "max", "both"] = "both"

    def refuse(self) -> None:
        for matrix in self.matrices:
            measure([("matrix", "H W", matrix)], dict.fromkeys("HW", (self.size, LARGEST)))

    @property
    def single(self) -> bool:
        """Whether there is one matrix, not a list of them."""
        matrix: Any = self.matrix
        return not (matrix and matrix[0] and isinstance(matrix[0][0], tuple))

    @property
    def matrices(self) -> tuple[Matrix, ...]:
        """The matrices, also if there is only one."""
        matrix: Any = self.matrix
        return (matrix,) if self.single else matrix

    @property
    def pools(self) -> dict[str, Pool]:
        """What is asked of each window, by name."""
        kinds = ("average", "max") if self.kind == "both" else (self.kind,)
        return {kind: Pool(kind, self.size, self.stride) for kind in kinds}

    def shaped(self, found: dict[str, list[Any]]) -> Any:
        """Results per kind and matrix, without the levels that were not asked for."""
        by_kind = {kind: grids[0] if self.single else grids for kind, grids in found.items()}
        return by_kind if self.kind == "both" else by_kind[self.kind]


def solve(question: Question) -> Iterator[Step | Answer]:
    """The first window, all outputs, and both distortions."""
    matrices, size = question.matrices, question.size
    outputs = {kind: [pool.outputs(matrix) for matrix in matrices] for kind, pool in question.pools.items()}
    window = [row[:size] for row in matrices[0][:size]]
    board = Board(vars(question), area=size**2, window=window, most=max(map(max, window)))
    board["sum"] = sum(map(sum, window))
    yield board.step(
        "The window of <size> x <size> moves by <stride>; where it would hang over the edge it is left out. "
        "The first window of the first matrix has sum <sum> and maximum <most>.",
        "<window>",
    )
    for kind, grids in outputs.items():
        taken = "the largest entry" if kind == "max" else "the sum of the <area> entries over <area>"
        board |= {"kind": kind.capitalize(), "rows": len(grids[0]), "columns": len(grids[0][0])}
        first = question.pools[kind].window(matrices[0], 0, 0)
        board["first"] = rf"\max({', '.join(map(latex, first))})"
        if kind == "average":
            board["first"] = rf"\frac{{{added(first)}}}{{{size**2}}}"
        board |= {"output": question.shaped({kind: grids}), "corner": grids[0][0][0]}
        yield board.step(
            f"<kind> pooling takes {taken} of each window: <rows> x <columns> outputs per matrix.",
            r"<first> = <corner>: \quad " + r" \qquad ".join(map(latex, grids)),
            grids,
            shows="output",
        )
    views = {"pixels": Pool("average", 1, 1), **question.pools}
    for name, change in (("shift", _shift_change), ("missing", _missing_change)):
        changes = {kind: [change(pool, x) for x in matrices] for kind, pool in views.items()}
        board[name] = {kind: _mean(each) for kind, each in changes.items()}
        board[f"{name}_means"] = r", \quad ".join(
            rf"\text{{{kind}}}: \frac{{{added(each)}}}{{{len(each)}}} = {latex(board[name][kind])}"
            for kind, each in changes.items()
        )
        board[f"{name}_by_kind"] = ", ".join(f"{value} ({kind})" for kind, value in board[name].items())
    yield board.step(
        "Move each matrix one pixel to the right, zeros coming in. An entry changes on average by "
        "<shift_by_kind>: most of a window sees the same shape as before, so pooling answers a small move "
        "less.",
        "<shift_means>",
        "shift",
        figure=_pictures({"input": matrices, **outputs}),
    )
    yield board.step(
        "Delete one pixel that is not 0, each in turn, and note the largest change of an entry; averaged "
        "over the pixels this is <missing_by_kind>. Averaging divides a lost pixel by <area>; the maximum "
        "does not notice it while an equal pixel is left in the window. The price is that windows with one "
        "maximum look alike.",
        "<missing_means>",
        "missing",
    )
    yield Answer(fields={"output": question.shaped(outputs), **board.pick("shift missing")})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """torch's own pooling, of the matrices and of every distorted copy."""
    images = [tensor([matrix]) for matrix in question.matrices]
    found = {kind: [pool.by_torch(image)[0] for image in images] for kind, pool in question.pools.items()}
    yield agree("output", "torch.nn.functional pooling", answer["output"], question.shaped(found))
    shift, missing = {}, {}
    for name, pool in {"pixels": Pool("max", 1, 1), **question.pools}.items():
        before = list(map(pool.by_torch, images))
        moved = [pool.by_torch(functional.pad(image, (1, 0))[..., :-1]) for image in images]
        holed = [pool.by_torch(_holed(image)) for image in images]
        shift[name] = sum((b - a).abs().mean() for a, b in zip(before, moved, strict=True)) / len(images)
        changes = [(b - a).abs().amax((1, 2)).mean() for a, b in zip(before, holed, strict=True)]
        missing[name] = sum(changes) / len(images)
    yield agree("change by a shift", "pooling the shifted matrices with torch", answer["shift"], shift)
    method = "pooling every holed copy with torch"
    yield agree("change by a missing pixel", method, answer["missing"], missing)


def attempt(question: Question, write: Attempt) -> None:
    """The pooled matrices, and how a shift changes them."""
    matrices, pools = question.matrices, question.pools

    rules: dict[str, dict[str, Any]] = {
        "sums": {"max": max, "average": sum},
        "exchanged": {"max": _mean, "average": max},
        "present": {"max": max, "average": lambda window: _mean([x for x in window if x])},
    }
    taken = next((rule for key, rule in rules.items() if key in write.made), {"max": max, "average": _mean})

    def pooled(rule: dict[str, Any], turn: int = 0) -> dict[str, list[Any]]:
        """Every kind of every matrix, which moves one column to the right (1), to the left (-1) or not."""
        moved = [_moved(matrix, turn) for matrix in matrices]
        return {kind: [pool.outputs(matrix, rule[kind]) for matrix in moved] for kind, pool in pools.items()}

    output = write(
        "output",
        question.shaped(pooled({"max": max, "average": _mean})),
        "the pooled matrices",
        "What is taken of each window, and how far does it move?",
        r"\frac{1}{k^2} \sum_{\text{window}} x, \quad \max_{\text{window}} x",
        sums=("the sum of a window is not divided", question.shaped(pooled(rules["sums"]))),
        exchanged=("average and maximum are exchanged", question.shaped(pooled(rules["exchanged"]))),
        present=("zeros are left out of the average", question.shaped(pooled(rules["present"]))),
    )
    by_kind = output if question.kind == "both" else {question.kind: output}
    before = {kind: [grids] if question.single else grids for kind, grids in by_kind.items()}

    def change(turn: int, take: Any) -> dict[str, float]:
        pairs = {"pixels": [(matrix, _moved(matrix, turn)) for matrix in matrices]}
        for kind, grids in pooled(taken, turn).items():
            pairs[kind] = list(zip(before[kind], grids, strict=True))
        return {kind: float(take([_distance(*pair) for pair in each])) for kind, each in pairs.items()}

    write(
        "shift",
        change(1, _mean),
        "mean change of an entry by the shift",
        "Which entries come in, and over what is the mean taken?",
        r"\text{mean of } |\text{pool}(\text{moved}) - \text{pool}(x)|",
        left=("the matrices are moved to the left", change(-1, _mean)),
        added=("the changes of the matrices are added up", change(1, sum)),
    )


def draw(random: Random) -> dict[str, Any]:
    """Two matrices of side 5."""
    return {"matrix": whole(random, 0, 2, 2, 5, 5)}


def _shift_change(pool: Pool, matrix: Grid) -> Fraction:
    """Mean change of an entry when the matrix moves one column to the right."""
    return _distance(pool.outputs(matrix), pool.outputs(_moved(matrix, 1)))


def _moved(matrix: Grid, turn: int) -> Grid:
    """The matrix one column further to the right (1) or to the left (-1), zeros coming in."""
    if turn == 0:
        return matrix
    return [(Fraction(0), *row[:-1]) if turn > 0 else (*row[1:], Fraction(0)) for row in matrix]


def _distance(left: Grid, right: Grid) -> Any:
    """Mean difference of two entries at one place."""
    pairs = zip(chain.from_iterable(left), chain.from_iterable(right), strict=True)
    return _mean([abs(new - old) for old, new in pairs])


def _missing_change(pool: Pool, matrix: Grid) -> Fraction:
    """Largest change of an entry when one pixel becomes 0, averaged over the pixels that are not 0."""
    worst = {(i, j): Fraction(0) for i, row in enumerate(matrix) for j, value in enumerate(row) if value}
    for top in pool.starts(len(matrix)):
        for left in pool.starts(len(matrix[0])):
            for offset, change in enumerate(_losses(pool, pool.window(matrix, top, left))):
                place = (top + offset // pool.size, left + offset % pool.size)
                if place in worst:
                    worst[place] = max(worst[place], change)
    return _mean(list(worst.values()))


def _losses(pool: Pool, window: list[Fraction]) -> list[Fraction]:
    """By how much a window's output changes if one entry, each in turn, becomes 0."""
    if pool.kind == "average":
        return [abs(value) / len(window) for value in window]
    top = max(window)
    best = window.index(top)
    losses = [max(-top, Fraction(0))] * len(window)  # of any other entry: only a 0 above them all is noticed
    losses[best] = abs(top - max([*window[:best], *window[best + 1 :], Fraction(0)]))
    return losses


def _mean(values: Sequence[Any]) -> Any:
    return sum(values, Fraction(0)) / max(len(values), 1)


def _holed(image_1HW: Tensor) -> Tensor:
    """Copies of an image, each with one of its non-zero pixels deleted."""
    _, rows, columns = image_1HW.nonzero(as_tuple=True)
    copies = image_1HW.repeat(max(len(rows), 1), 1, 1)
    copies[torch.arange(len(rows)), rows, columns] = 0
    return copies


def _pictures(grids: dict[str, Sequence[Grid]]) -> Pictures:
    """Each matrix beside what pooling makes of it, the largest entry white."""
    bright = max(float(max(map(max, matrix))) for matrix in grids["input"]) or 1.0

    def shades(grid: Grid) -> list[list[float]]:
        return [[min(max(float(value) / bright, 0.0), 1.0) for value in row] for row in grid]

    pixels = tuple(tuple(map(shades, line)) for line in zip(*grids.values(), strict=True))
    rows = numbered("matrix ", len(pixels))
    return Pictures(title="Before and after pooling", rows=rows, columns=tuple(grids), pixels=pixels)
