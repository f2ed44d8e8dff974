"""Average and max pooling by hand, and what they forgive: a shift, a missing pixel."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from vitruvius import lessons
from vitruvius.core.blocks import Pictures
from vitruvius.lessons import Answer, Matrix, Proof, Step, _board, _shapes, exact
from vitruvius.lessons._proofs import agree

if TYPE_CHECKING:
    from torch import Tensor

SUBJECT = "convolution"
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

    def value(self, window: Sequence[Fraction]) -> Fraction:
        """The output of one window."""
        return max(window) if self.kind == "max" else _mean(window)

    def outputs(self, matrix: Grid) -> list[list[Fraction]]:
        """The outputs of all windows."""
        columns = self.starts(len(matrix[0]))
        return [[self.value(self.window(matrix, top, left)) for left in columns] for top in self.starts(len(matrix))]


class Question(lessons.Question):
    """Matrices and the window that pools them."""

    matrix: Matrix | tuple[Matrix, ...] = exact((FRAMED, RING))
    """One matrix, or several."""
    size: Annotated[int, Field(ge=1, le=LARGEST)] = 3
    """Side of the square window."""
    stride: Annotated[int, Field(ge=1, le=LARGEST)] = 2
    kind: Literal["average", "max", "both"] = "both"

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for matrix in self.matrices:
            sides = _shapes.matrix("matrix", matrix, (LARGEST, LARGEST))
            if self.size > min(sides):
                raise ValueError(f"matrix is {sides[0]} x {sides[1]}: it needs at least {self.size} (size) of each")
        return self

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
    matrices, area = question.matrices, question.size**2
    outputs = {kind: [pool.outputs(matrix) for matrix in matrices] for kind, pool in question.pools.items()}
    yield _first_window(question)
    for kind, grids in outputs.items():
        taken = "the largest entry" if kind == "max" else f"the sum of the {area} entries over {area}"
        yield Step(
            says=f"{kind.capitalize()} pooling takes {taken} of each window: "
            f"{len(grids[0])} x {len(grids[0][0])} outputs per matrix.",
            formula=r" \qquad ".join(map(_board.matrix, grids)),
            value=grids,
        )
    views = {"pixels": Pool("average", 1, 1), **question.pools}
    shift = {name: _mean([_shift_change(pool, matrix) for matrix in matrices]) for name, pool in views.items()}
    yield Step(
        says="Move each matrix one pixel to the right, zeros coming in. An entry changes on average by "
        f"{_listed(shift)}: most of a window sees the same shape as before, so pooling answers a small move less.",
        value=shift,
        figure=_pictures(question, outputs),
    )
    missing = {name: _mean([_missing_change(pool, matrix) for matrix in matrices]) for name, pool in views.items()}
    yield Step(
        says="Delete one pixel that is not 0, each in turn, and note the largest change of an entry; averaged over the "
        f"pixels this is {_listed(missing)}. Averaging divides a lost pixel by {area}; the maximum does not notice it "
        "while an equal pixel is left in the window. The price is that windows with one maximum look alike.",
        value=missing,
    )
    yield Answer(fields={"output": question.shaped(outputs), "shift": shift, "missing": missing})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """torch's own pooling, of the matrices and of every distorted copy."""
    import torch
    from torch.nn import functional

    images = [torch.tensor(matrix, dtype=torch.float64)[None] for matrix in question.matrices]
    found = {kind: [_by_torch(pool, image)[0] for image in images] for kind, pool in question.pools.items()}
    yield agree("output", "torch.nn.functional pooling", answer["output"], question.shaped(found))
    shift, missing = {}, {}
    for name, pool in {"pixels": Pool("max", 1, 1), **question.pools}.items():
        moved = [functional.pad(image, (1, 0))[..., :-1] for image in images]
        shift[name] = sum(_changes(pool, *pair).mean() for pair in zip(images, moved, strict=True)) / len(images)
        missing[name] = sum(_changes(pool, image, _holed(image)).amax((1, 2)).mean() for image in images) / len(images)
    yield agree("change by a shift", "pooling the shifted matrices with torch", answer["shift"], shift)
    yield agree("change by a missing pixel", "pooling every holed copy with torch", answer["missing"], missing)


def _first_window(question: Question) -> Step:
    pool = next(iter(question.pools.values()))
    window = pool.window(question.matrices[0], 0, 0)
    rows = [window[start : start + pool.size] for start in range(0, len(window), pool.size)]
    return Step(
        says=f"The window of {pool.size} x {pool.size} moves by {pool.stride}; where it would hang over the edge it is "
        f"left out. The first window of the first matrix has sum {sum(window)} and maximum {max(window)}.",
        formula=_board.matrix(rows),
        value=rows,
    )


def _shift_change(pool: Pool, matrix: Grid) -> Fraction:
    """Mean change of an entry when the matrix moves one column to the right."""
    moved = [(Fraction(0), *row[:-1]) for row in matrix]
    pairs = zip(sum(pool.outputs(matrix), []), sum(pool.outputs(moved), []), strict=True)
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


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / max(len(values), 1)


def _by_torch(pool: Pool, image_BHW: "Tensor") -> "Tensor":
    from torch.nn import functional

    pooled = functional.max_pool2d if pool.kind == "max" else functional.avg_pool2d
    return pooled(image_BHW, pool.size, pool.stride)


def _changes(pool: Pool, before: "Tensor", after: "Tensor") -> "Tensor":
    return (_by_torch(pool, after) - _by_torch(pool, before)).abs()


def _holed(image_1HW: "Tensor") -> "Tensor":
    """Copies of an image, each with one of its non-zero pixels deleted."""
    import torch

    _, rows, columns = image_1HW.nonzero(as_tuple=True)
    copies = image_1HW.repeat(max(len(rows), 1), 1, 1)
    copies[torch.arange(len(rows)), rows, columns] = 0
    return copies


def _pictures(question: Question, outputs: dict[str, list[Any]]) -> Pictures:
    """Each matrix beside what pooling makes of it, the largest entry white."""
    bright = max(float(max(map(max, matrix))) for matrix in question.matrices)
    columns = {"input": question.matrices, **outputs}
    pixels = tuple(
        tuple([[min(max(float(value) / (bright or 1.0), 0.0), 1.0) for value in row] for row in grid] for grid in line)
        for line in zip(*columns.values(), strict=True)
    )
    rows = tuple(f"matrix {number}" for number in range(1, len(pixels) + 1))
    return Pictures(title="Before and after pooling", rows=rows, columns=tuple(columns), pixels=pixels)


def _listed(values: dict[str, Fraction]) -> str:
    return ", ".join(f"{value} ({name})" for name, value in values.items())
