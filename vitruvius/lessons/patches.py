r"""An image as a sequence: square patches, each flattened; a strided convolution does the same.

Patches are numbered in reading order and a patch is read as a convolution reads it: channel, row, column. Shapes:
C channels, P patch side, n patches.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from vitruvius import lessons
from vitruvius.core.blocks import Heatmap
from vitruvius.lessons import Answer, Matrix, Proof, Step, _board
from vitruvius.lessons._proofs import agree, holds

SUBJECT = "vision transformers"
LARGEST = 64
"""Rows and columns of an image."""
WIDTH = 8
"""Of the tokens in the comparison with a convolution."""

Side = Annotated[int, Field(ge=1, le=LARGEST)]


class Question(lessons.Question):
    """An image of the size of an MNIST digit in patches of 7, as the assignment's Vision Transformer reads it."""

    image: Side | Matrix | tuple[Matrix, ...] = 28
    """A matrix, a list of them (one per channel), or a side: then pixels are numbered 0, 1, 2, ... in reading order."""
    patch: Side = 7
    """Side of a patch."""
    class_token: bool = False
    """Whether the encoder gets a class token as well."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        shapes = {(len(channel), *sorted({len(row) for row in channel})) for channel in self.channels}
        rows, *columns = sorted(shapes)[0] if shapes else (0,)
        if len(shapes) != 1 or len(columns) != 1 or not 1 <= max(rows, *columns) <= LARGEST or len(self.channels) > 4:
            needs = f"it needs 1 to 4 channels of one shape, at most {LARGEST} x {LARGEST}"
            raise ValueError(f"image has {len(self.channels)} channels of shapes {sorted(shapes)}: {needs}")
        for name, side in (("rows", rows), ("columns", columns[0])):
            if side % self.patch:
                raise ValueError(f"patch {self.patch} does not divide the {side} {name} of the image")
        return self

    @property
    def channels(self) -> tuple[Matrix, ...]:
        """The image as a list of channels."""
        image: Any = self.image
        if isinstance(image, int):
            numbers = [[Fraction(image * row + column) for column in range(image)] for row in range(image)]
            return (tuple(map(tuple, numbers)),)
        return image if image and image[0] and isinstance(image[0][0], tuple) else (image,)


def solve(question: Question) -> Iterator[Step | Answer]:
    """Cut, flatten, count, and see the convolution."""
    side, channels = question.patch, question.channels
    rows, columns = len(channels[0]) // side, len(channels[0][0]) // side
    corners = [(top * side, left * side) for top in range(rows) for left in range(columns)]
    patches = [
        [value for channel in channels for row in channel[top : top + side] for value in row[left : left + side]]
        for top, left in corners
    ]
    yield Step(
        says=f"Cut {rows * side} x {columns * side} pixels into squares of side {side}: {rows} x {columns} patches, "
        f"{len(patches)} in all, numbered as one reads. Nothing overlaps and nothing is left over.",
        formula=rf"n = \frac{{{rows * side}}}{{{side}}} \cdot \frac{{{columns * side}}}{{{side}}} = {len(patches)}",
        value=len(patches),
        figure=_numbers(rows, columns, side),
    )
    length = len(patches[0])
    first = [list(row[:side]) for row in channels[0][:side]]
    yield Step(
        says=f"Flatten each patch into one row of {len(channels)} x {side} x {side} = {length} numbers. Neighbours in "
        f"the row above are now {side} places apart: the order of pixels is a convention the network must learn.",
        formula=rf"{_board.matrix(first)} \to \left( {_list(patches[0])} \right)",
        value=patches,
    )
    tokens = len(patches) + question.class_token
    yield Step(
        says=f"One linear map turns every row of {length} into a token; {int(question.class_token)} class tokens in "
        f"front make {tokens}. Attention compares all pairs: {tokens**2} of them, against "
        f"{(rows * columns * side**2) ** 2} if every pixel were a token.",
        formula=rf"\text{{tokens}} = {len(patches)} + {int(question.class_token)} = {tokens}",
        value=tokens,
    )
    yield Step(
        says="The map is a convolution in disguise: a filter of the size of a patch that moves by one patch sees each "
        f"patch once. Its {length} weights are one column of the linear map, in the same order.",
        formula=r"z_{p,d} = \sum_i E_{i,d}\, x_{p,i} = "
        rf"\mathrm{{conv}}(x;\ \text{{kernel}}={side},\ \text{{stride}}={side})_{{d,p}}",
        value={"kernel": side, "stride": side, "weights per filter": length},
    )
    yield Answer(fields={"patches": patches, "tokens": tokens})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """Convolutions with a stride of one patch: one that copies pixels, and one with the weights of a linear map."""
    import torch
    from torch.nn import functional

    from vitruvius.nn.vit import patches

    side = question.patch
    image_BCHW = torch.tensor(question.channels, dtype=torch.float64)[None]
    channels, length = image_BCHW.shape[1], image_BCHW.shape[1] * side**2
    copying = torch.eye(length, dtype=torch.float64).view(length, channels, side, side)
    copied = functional.conv2d(image_BCHW, copying, stride=side)[0].flatten(1).T
    yield agree("patches", "a strided convolution whose filters copy one pixel each", answer["patches"], copied)
    ours = patches(image_BCHW, side)[0]
    yield agree("patches", "vitruvius.nn.vit.patches", answer["patches"], ours)
    yield agree("tokens", "windows of torch's unfold", answer["tokens"], _windows(question) + question.class_token)
    filters = torch.randn(WIDTH, channels, side, side, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    linear = torch.tensor(answer["patches"], dtype=torch.float64) @ filters.flatten(1).T
    convolved = functional.conv2d(image_BCHW, filters, stride=side)[0].flatten(1).T
    gap = float((linear - convolved).abs().max() / convolved.abs().max().clamp_min(1e-300))
    name = f"{WIDTH} random filters as a linear map of patches and as a convolution"
    detail = f"largest relative difference {gap:.1e}" if gap else "equal"
    yield holds(name, "torch.nn.functional.conv2d", gap < 1e-9, detail)


def _windows(question: Question) -> int:
    """Windows of one patch that torch's unfold finds."""
    import torch

    rows, columns = len(question.channels[0]), len(question.channels[0][0])
    blank = torch.zeros(1, 1, rows, columns)
    return torch.nn.functional.unfold(blank, question.patch, stride=question.patch).shape[-1]


def _numbers(rows: int, columns: int, side: int) -> Heatmap:
    """Which patch each pixel belongs to."""
    values = tuple(
        tuple(float(row // side * columns + column // side + 1) for column in range(columns * side))
        for row in range(rows * side)
    )
    return Heatmap(title="Which patch a pixel belongs to", values=values, numbers=max(rows, columns) * side <= 16)


def _list(values: list[Fraction]) -> str:
    """The first and the last of a long row."""
    shown = [*values[:8], r"\dots", values[-1]] if len(values) > 10 else values
    return r",\, ".join(value if isinstance(value, str) else _board.number(value) for value in shown)
