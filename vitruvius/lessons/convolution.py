r"""How many weights a convolution has, and what shape comes out.

A filter spans every channel of its input. Along an axis of length $L$, kernel $k$, stride $s$, padding $p$
and dilation $r$ leave $\lfloor (L + 2p - r(k-1) - 1)/s \rfloor + 1$ places."""

import math
from collections.abc import Iterator, Sequence
from random import Random
from typing import Annotated, Any, NamedTuple

import torch
from pydantic import Field

from vitruvius import lessons
from vitruvius.core.blocks import Heatmap
from vitruvius.core.counted import counted
from vitruvius.lessons import Answer, Attempt, Board, Proof, Step
from vitruvius.lessons._figures import heatmap
from vitruvius.lessons._proofs import agree

SUBJECT = "convolution"
TASK = (
    "A convolutional layer with <filters> filters of side <kernel>, stride <stride> and padding "
    "<padding> reads an input of shape <shape>, channels last. How many weights, biases and "
    "parameters has it, and what is the shape of its output?"
)
LARGEST_FIGURE = 64
"""Longest side of an input that is drawn."""
PLACES = (
    r"\left\lfloor \frac{<size> + 2 \cdot <padding> - <dilation> \cdot (<side> - 1) - 1}{<stride>} "
    r"\right\rfloor + 1 = <places>"
)
SPANS = "Forgetting that a filter spans all channels would give <flat> parameters."
ONE_CHANNEL = "The input has one channel; with more, each filter would have weights for every one of them."
Size = Annotated[int, Field(ge=1, le=4096)]
Padding = Annotated[int, Field(ge=0, le=4096)]


class Axis(NamedTuple):
    """What a convolution does along one axis."""

    size: int
    side: int  # of the filter
    stride: int
    padding: int
    dilation: int

    @property
    def padded(self) -> int:
        """Places to slide over."""
        return self.size + 2 * self.padding

    @property
    def span(self) -> int:
        """Places from the first to the last weight of the filter."""
        return self.dilation * (self.side - 1) + 1

    @property
    def places(self) -> int:
        """Places where the filter fits."""
        return (self.padded - self.span) // self.stride + 1


class Question(lessons.Question):
    """A convolutional layer on a signal or an image."""

    shape: tuple[Size, ...] = (28, 28, 3)
    """Of the input, channels last: [length, channels] or [height, width, channels]."""
    kernel: Size | tuple[Size, ...] = 4
    """Side of a filter, one for all axes or one per axis; its channels may be written too: [4, 4, 3]."""
    filters: Size = 8
    stride: Size | tuple[Size, ...] = 2
    padding: Padding | tuple[Padding, ...] = 0
    """Zeros before and after each axis."""
    dilation: Size | tuple[Size, ...] = 1
    bias: bool = True

    def refuse(self) -> None:
        if len(self.shape) not in (2, 3):
            needs = "it needs [length, channels] or [height, width, channels]"
            raise ValueError(f"shape has {counted(len(self.shape), 'entry')}: {needs}")
        for index, axis in enumerate(self.axes):
            if axis.span > axis.padded:
                has = f"axis {index} of shape has {axis.size} and {2 * axis.padding} of padding"
                raise ValueError(f"kernel spans {axis.span} places, {has}")

    @property
    def axes(self) -> list[Axis]:
        """The spatial axes with their settings."""
        settings = map(self._per_axis, ("kernel", "stride", "padding", "dilation"))
        return [Axis(*values) for values in zip(self.shape[:-1], *settings, strict=True)]

    def _per_axis(self, field: str) -> tuple[int, ...]:
        value, axes = getattr(self, field), len(self.shape) - 1
        if isinstance(value, int):
            return (value,) * axes
        if field == "kernel" and len(value) == axes + 1 and value[-1] == self.shape[-1]:
            return value[:-1]
        if len(value) != axes:
            needs = f"it needs one number or {axes} for an input of shape {list(self.shape)}"
            raise ValueError(f"{field} has {list(value)}: {needs}")
        return value


def solve(question: Question) -> Iterator[Step | Answer]:
    """Weights, biases, places along each axis, output."""
    axes, channels, filters = question.axes, question.shape[-1], question.filters
    sides, places = [axis.side for axis in axes], [axis.places for axis in axes]
    window, biases = math.prod(sides), filters * question.bias
    weights, output = filters * window * channels, [*places, filters]
    board = Board(weights=weights, biases=biases, parameters=weights + biases, output=output)
    board |= {"filters": filters, "window": window, "channels": channels, "seen": window * channels}
    board["one"] = int(question.bias)
    board |= {"sides": _times(sides), "places": _times(places), "shape": r" \times ".join(map(str, output))}
    board["unread"] = _times([(axis.padded - axis.span) % axis.stride for axis in axes])
    board |= {"flat": filters * window + biases, "outputs": math.prod(output)}
    yield board.step(
        "A filter looks at <sides> places of each channel (<channels>) and has a weight for each of the "
        "<seen> numbers it sees. The <filters> filters share nothing.",
        r"\underbrace{<filters>}_{\text{filters}} \cdot \underbrace{<window>}_{\text{places}} \cdot "
        r"\underbrace{<channels>}_{\text{channels}} = <weights>",
    )
    yield board.step(
        "A filter adds the same bias at all places of its output, so there are <biases> biases. "
        + (SPANS if channels > 1 else ONE_CHANNEL),
        r"<filters> \cdot <one> = <biases>, \quad <weights> + <biases> = <parameters>",
        shows="biases",
    )
    formulas = [Board(axis._asdict(), places=axis.places).step("", PLACES).formula for axis in axes]
    places_found = r" \qquad ".join(formulas)
    yield board.step(
        "Along an axis the first window starts at the first place and each next one a stride further, as "
        "long as it fits: <places> windows; <unread> places at the end stay unread.",
        places_found,
        places,
        _coverage(axes),
    )
    yield board.step(
        "Every filter gives one such map; the <filters> maps are the channels of the output. A larger input "
        "makes the <outputs> outputs more, not the <parameters> parameters.",
        rf"{places_found} \quad \Rightarrow \quad <shape>",
        "output",
    )
    yield Answer(fields=board.pick("weights biases parameters output"))


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """The layer itself, without memory for its numbers, and the window slid along each axis."""
    *sizes, channels = question.shape
    _, *settings = zip(*question.axes, strict=True)  # sides, strides, paddings, dilations
    convolution: Any = torch.nn.Conv1d if len(sizes) == 1 else torch.nn.Conv2d
    layer = convolution(channels, question.filters, *settings, bias=question.bias, device="meta")
    filters, *places = layer(torch.empty(1, channels, *sizes, device="meta")).shape[1:]
    counts = {name: parameter.numel() for name, parameter in layer.named_parameters()}
    found = {"weights": counts["weight"], "biases": counts.get("bias", 0), "output": [*places, filters]}
    found["parameters"] = sum(counts.values())
    yield agree("parameters and output shape", f"torch.nn.{type(layer).__name__}", answer, found)
    starts = [
        sum(start + axis.span <= axis.padded for start in range(0, axis.padded, axis.stride))
        for axis in question.axes
    ]
    yield agree("places of the output", "sliding the window", answer["output"][:-1], starts)


def attempt(question: Question, write: Attempt) -> None:
    """Weights, biases, parameters, output."""
    axes, channels, filters = question.axes, question.shape[-1], question.filters
    window = math.prod(axis.side for axis in axes)
    weights = write(
        "weights",
        filters * window * channels,
        "number of weights",
        "How many channels does one filter look at?",
        r"\text{filters} \cdot \text{window} \cdot \text{channels}",
        flat=("a filter is given one channel only", filters * window),
        one_filter=("one filter only is counted", window * channels),
    )
    biases = write(
        "biases",
        filters * question.bias,
        "number of biases",
        "What shares a bias?",
        r"\text{one for each filter}",
        one=("all filters share one bias", int(question.bias)),
        per_channel=("a bias is counted for every channel of a filter", filters * channels * question.bias),
    )
    write(
        "parameters",
        weights + biases,
        "number of parameters",
        "What is learned?",
        r"\text{weights} + \text{biases}",
        no_biases=("the biases are forgotten", weights),
    )
    places = [axis.places for axis in axes]
    write(
        "output",
        [*places, filters],
        "shape of the output, channels last",
        "At how many places does the window fit, the first one included?",
        r"\left\lfloor \frac{L + 2p - r (k - 1) - 1}{s} \right\rfloor + 1",
        first_place=("the first place is not counted", [*(count - 1 for count in places), filters]),
        no_stride=("the stride is not divided by", [*(a.padded - a.span + 1 for a in axes), filters]),
        in_channels=("the output is given the channels of the input", [*places, channels]),
    )


def draw(random: Random) -> dict[str, Any]:
    """A square image with two to four channels."""
    side = random.randint(10, 40)
    given = {"shape": [side, side, random.randint(2, 4)], "kernel": random.randint(2, 5)}
    given |= {"filters": random.randint(5, 16), "stride": random.randint(2, 3)}
    return given | {"padding": random.randint(0, 2)}


def _coverage(axes: Sequence[Axis]) -> Heatmap | None:
    """How many windows read each place."""
    if max(axis.size for axis in axes) > LARGEST_FIGURE:
        return None
    rows, columns = [[1], *map(_reads, axes)][-2:]
    values = [[row * column for column in columns] for row in rows]
    return heatmap("How many windows read each place", values, (), (), numbers=len(columns) <= 16)


def _reads(axis: Axis) -> list[int]:
    """How many windows read each place along one axis."""
    read = [n * axis.stride + k * axis.dilation for n in range(axis.places) for k in range(axis.side)]
    return [read.count(place + axis.padding) for place in range(axis.size)]


def _times(sizes: Sequence[int]) -> str:
    return " x ".join(map(str, sizes))
