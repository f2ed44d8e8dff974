r"""An image as a sequence: square patches, each flattened; a strided convolution does the same.

Patches are numbered in reading order and a patch is read as a convolution reads it: channel, row, column.
Shapes: C channels, R x K patches with side P, n patches in all."""

from collections.abc import Iterator
from fractions import Fraction
from random import Random
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import Field
from torch.nn import functional

from vitruvius import lessons
from vitruvius.lessons import Answer, Attempt, Board, Matrix, Proof, Step, latex
from vitruvius.lessons._draws import whole
from vitruvius.lessons._figures import heatmap
from vitruvius.lessons._proofs import agree, holds
from vitruvius.lessons._shapes import measure
from vitruvius.lessons._tensors import tensor
from vitruvius.nn import vit

SUBJECT = "vision transformers"
TASK = (
    "Cut an image into patches of <patch> x <patch> pixels, flatten each row by row, and number them "
    "as one reads. Class token: <class_token>. Work out the number of patches, the patches as rows, "
    "and the number of tokens that the encoder gets."
)
SHEET_FIGURE = 1
WIDTH = 8
"""Of the tokens in the comparison with a convolution."""

Side = Annotated[int, Field(ge=1, le=64)]


class Question(lessons.Question):
    """An image of the size of an MNIST digit in patches of 7, as the assignment's Vision Transformer reads
    it.
    """

    image: Side | Matrix | tuple[Matrix, ...] = 28
    """A matrix, a list of them (one per channel), or a side: its pixels are numbered 0, 1, 2, ... as one
    reads.
    """
    patch: Side = 7
    """Side of a patch."""
    class_token: bool = False
    """Whether the encoder gets a class token as well."""

    def refuse(self) -> None:
        sizes = measure([("image", "C H W", self.channels)], {"C": (1, 4)})
        for name, side in (("rows", sizes["H"][0]), ("columns", sizes["W"][0])):
            if side % self.patch:
                raise ValueError(f"patch {self.patch} does not divide the {side} {name} of the image")

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
    side, x_CHW = question.patch, np.array(question.channels, dtype=object)
    channels, height, width = x_CHW.shape
    rows, columns = height // side, width // side
    x_CRPKP = x_CHW.reshape(channels, rows, side, columns, side)
    patches = x_CRPKP.transpose(1, 3, 0, 2, 4).reshape(rows * columns, -1).tolist()
    board = Board(side=side, height=height, width=width, rows=rows, columns=columns, patches=patches)
    board |= {"count": len(patches), "channels": channels, "length": len(patches[0])}
    numbers = [[i // side * columns + j // side + 1 for j in range(width)] for i in range(height)]
    yield board.step(
        "Cut <height> x <width> pixels into squares of side <side>: <rows> x <columns> patches, <count> in "
        "all, numbered as one reads. Nothing overlaps and nothing is left over.",
        r"n = \frac{<height>}{<side>} \cdot \frac{<width>}{<side>} = <count>",
        figure=heatmap("Which patch a pixel belongs to", numbers, (), (), numbers=max(height, width) <= 16),
    )
    first = patches[0]
    shown = [*first[:8], r"\dots", first[-1]] if len(first) > 10 else first
    board |= {"square": x_CHW[0, :side, :side], "row": r",\, ".join(map(latex, shown))}
    yield board.step(
        "Flatten each patch into one row of <channels> x <side> x <side> = <length> numbers. Neighbours in "
        "the row above are now <side> places apart: the order of pixels is a convention the network must "
        "learn.",
        r"<square> \to \left( <row> \right)",
        "patches",
    )
    yield from _token_steps(question, board)
    yield Answer(fields=board.pick("patches tokens"))


def _token_steps(question: Question, board: Board) -> Iterator[Step]:
    tokens = board["count"] + question.class_token
    board |= {"more": int(question.class_token), "tokens": tokens, "pairs": tokens**2}
    board["pixels"] = (board["height"] * board["width"]) ** 2
    yield board.step(
        "One linear map turns every row of <length> into a token; <more> class tokens in front make "
        "<tokens>. Attention compares all pairs: <pairs> of them, against <pixels> if every pixel were a "
        "token.",
        r"\text{tokens} = <count> + <more> = <tokens>",
    )
    yield board.step(
        "The map is a convolution in disguise: a filter of the size of a patch that moves by one patch sees "
        "each patch once. Its <length> weights are one column of the linear map, in the same order.",
        r"z_{p,d} = \sum_i E_{i,d}\, x_{p,i} = \mathrm{conv}(x;\ \text{kernel}=<side>,\ "
        r"\text{stride}=<side>)_{d,p}",
        {"kernel": question.patch, "stride": question.patch, "weights per filter": board["length"]},
    )


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """Convolutions with a stride of one patch: one copies pixels, one has the weights of a linear map."""
    side, image_BCHW = question.patch, tensor([question.channels])
    channels, length = image_BCHW.shape[1], image_BCHW.shape[1] * side**2
    copying = torch.eye(length, dtype=torch.float64).view(length, channels, side, side)
    copied = functional.conv2d(image_BCHW, copying, stride=side)[0].flatten(1).T
    method = "a strided convolution whose filters copy one pixel each"
    yield agree("patches", method, answer["patches"], copied)
    ours = vit.patches(image_BCHW, side)[0]
    yield agree("patches", "vitruvius.nn.vit.patches", answer["patches"], ours)
    windows = functional.unfold(image_BCHW, side, stride=side).shape[-1]
    yield agree("tokens", "windows of torch's unfold", answer["tokens"], windows + question.class_token)
    generator = torch.Generator().manual_seed(0)
    filters = torch.randn(WIDTH, channels, side, side, dtype=torch.float64, generator=generator)
    linear = tensor(answer["patches"]) @ filters.flatten(1).T
    convolved = functional.conv2d(image_BCHW, filters, stride=side)[0].flatten(1).T
    gap = float((linear - convolved).abs().max() / convolved.abs().max().clamp_min(1e-300))
    name = f"{WIDTH} random filters as a linear map of patches and as a convolution"
    detail = f"largest relative difference {gap:.1e}" if gap else "equal"
    yield holds(name, "torch.nn.functional.conv2d", gap < 1e-9, detail)


def attempt(question: Question, write: Attempt) -> None:
    """The number of patches, the patches, the number of tokens."""
    x, side = np.array(question.channels, float), question.patch
    channels, height, width = x.shape
    rows, columns = height // side, width // side
    count = write(
        "count",
        rows * columns,
        "number of patches",
        "How many patches lie in a row, and how many rows are there?",
        r"\frac{H}{P} \cdot \frac{W}{P}",
        one_side=("the patches of one row only are counted", columns),
        pixels=("the pixels of a patch are counted", side * side),
    )
    cut = x.reshape(channels, rows, side, columns, side)

    def flattened(*axes: int) -> Any:
        return cut.transpose(*axes).reshape(rows * columns, -1)

    write(
        "patches",
        flattened(1, 3, 0, 2, 4),
        "the patches, a row each",
        "Which pixels lie in the first patch, and in which order are they read?",
        r"x_p = (x_{c, i, j}) \text{ for } c, i, j \text{ of patch } p \text{, row by row}",
        rows_of_pixels=("the pixels are cut as they are read, not in squares", x.reshape(rows * columns, -1)),
        by_columns=("the pixels of a patch are read column by column", flattened(1, 3, 0, 4, 2)),
        patches_by_columns=("the patches are numbered column by column", flattened(3, 1, 0, 2, 4)),
    )
    tokens = count + question.class_token
    mistaken = "forgotten" if question.class_token else "counted, but there is none"
    write(
        "tokens",
        tokens,
        "number of tokens of the encoder",
        "Is there a token beside the patches?",
        r"n + 1 \text{ with a class token, } n \text{ without}",
        class_token=(f"the class token is {mistaken}", count + (not question.class_token)),
        pairs=("the pairs of tokens are counted", tokens**2),
    )


def draw(random: Random) -> dict[str, Any]:
    """A small image in patches of side 2 or 3."""
    side = random.choice((2, 3))
    image = whole(random, 0, 9, side * random.randint(2, 3), 2 * side)
    return {"image": image, "patch": side, "class_token": random.random() < 0.5}
