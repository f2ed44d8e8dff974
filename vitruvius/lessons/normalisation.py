r"""Batch, layer and instance normalisation: the same mean and variance over different axes of one tensor.

Axes: 0 batch (N samples), 1 channels (C), 2 features (F). The variance divides by the number of values, as
normalisation layers do, not by that number minus one.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from pydantic import model_validator

from vitruvius import lessons
from vitruvius.core.blocks import Heatmap
from vitruvius.lessons import Answer, Exact, Matrix, Proof, Step, _board, exact
from vitruvius.lessons._proofs import agree

if TYPE_CHECKING:
    from torch import Tensor

    Array = np.ndarray[Any, Any]

SUBJECT = "training"
LARGEST = 4096
AXES = {"batch": (0, 2), "layer": (1, 2), "instance": (2,)}
"""The axes that each kind averages over."""
KEPT = {"batch": "channel", "layer": "sample", "instance": "sample and channel"}
"""What there is one statistic for."""


class Question(lessons.Question):
    """A tensor of shape (batch, channels, features)."""

    tensor: tuple[Matrix, ...] = exact(
        (((4, 3, 2), (1, 4, 3)), ((3, 4, 1), (4, 2, 2)), ((3, 2, 3), (4, 1, 2)), ((1, 1, 3), (4, 1, 2)))
    )
    eps: Exact = exact(0)
    """Added to the variance before the root; layers use 1e-5, so that equal values do not divide by zero."""

    @model_validator(mode="after")
    def _can_be_normalised(self) -> Self:
        channels = {len(sample) for sample in self.tensor}
        features = {len(row) for sample in self.tensor for row in sample}
        if len(channels) != 1 or len(features) != 1 or max(features) < 2:
            has = f"{sorted(channels)} channels and {sorted(features)} features"
            raise ValueError(f"tensor has samples of {has}: all need the same numbers, and at least 2 features")
        if len(self.tensor) * max(channels) * max(features) > LARGEST:
            raise ValueError(f"tensor has more than {LARGEST} values")
        if self.eps < 0:
            raise ValueError(f"eps is {self.eps}: needs at least 0")
        for kind, axes in AXES.items():
            if (_statistics(self, axes)[1] + self.eps == 0).any():
                raise ValueError(f"tensor has equal values with a {kind} variance of 0: needs eps above 0")
        return self


def solve(question: Question) -> Iterator[Step | Answer]:
    """The statistics of the three kinds, exactly, then the normalised values."""
    x_NCF = np.array(question.tensor, dtype=object)
    fields: dict[str, Any] = {}
    normalised: dict[str, list[Any]] = {}
    for kind, axes in AXES.items():
        mean, variance = _statistics(question, axes)
        fields[kind] = {
            "mean": mean.squeeze(axes).tolist(),
            "variance": variance.squeeze(axes).tolist(),
            "axes": list(axes),
        }
        unit_NCF = (x_NCF - mean).astype(float) / np.sqrt((variance + question.eps).astype(float))
        normalised[kind] = unit_NCF.tolist()
        yield _kind_step(kind, fields[kind], mean.size, x_NCF.size // mean.size)
        yield _unit_step(kind, question, (mean.flat[0], variance.flat[0]), unit_NCF)
    yield _check_step(question)
    yield Answer(fields={**fields, "normalised": normalised})


def _statistics(question: Question, axes: tuple[int, ...]) -> "tuple[Array, Array]":
    """Exact mean and variance over some axes, which are kept with size 1."""
    x_NCF = np.array(question.tensor, dtype=object)
    mean = x_NCF.mean(axis=axes, keepdims=True)
    return mean, ((x_NCF - mean) ** 2).mean(axis=axes, keepdims=True)


def _kind_step(kind: str, statistics: dict[str, Any], groups: int, size: int) -> Step:
    mean, variance = (
        value if kind == "instance" else [value] for value in (statistics["mean"], statistics["variance"])
    )
    averaged = " and ".join(("samples", "channels", "features")[axis] for axis in statistics["axes"])
    return Step(
        says=f"{kind.capitalize()} normalisation averages over {averaged}: one mean and one variance for each "
        f"{KEPT[kind]}, {groups} of each, from {size} values.",
        formula=rf"\mu_{{\mathrm{{{kind}}}}} = {_board.matrix(mean)}, \quad "
        rf"\sigma^2_{{\mathrm{{{kind}}}}} = {_board.matrix(variance)}",
        value=statistics,
    )


def _unit_step(kind: str, question: Question, first: tuple[Any, Any], unit_NCF: "Array") -> Step:
    import sympy

    value = question.tensor[0][0][0]
    mean, variance = first
    root = sympy.sqrt(sympy.Rational(variance + question.eps))
    samples, channels, features = unit_NCF.shape
    return Step(
        says=f"Take off that mean and divide by the root of that variance: the first entry becomes "
        f"{unit_NCF[0, 0, 0]:.6g}.",
        formula=rf"\hat{{x}}_{{111}} = \frac{{{_board.number(value)} - {_board.number(mean)}}}"
        rf"{{{sympy.latex(root)}}} = {sympy.latex(sympy.Rational(value - mean) / root)} \approx "
        rf"{_board.number(unit_NCF[0, 0, 0])}",
        value=unit_NCF,
        figure=Heatmap(
            title=f"After {kind} normalisation",
            values=tuple(map(tuple, unit_NCF.reshape(-1, features).tolist())),
            rows=tuple(f"sample {n}, channel {c}" for n in range(1, samples + 1) for c in range(1, channels + 1)),
            columns=tuple(f"feature {f}" for f in range(1, features + 1)),
            numbers=unit_NCF.size <= 64,
        ),
    )


def _check_step(question: Question) -> Step:
    """The kinds are related, which catches slips in the table of instance statistics."""
    (mean_NC1, variance_NC1), (_, variance_1C1) = _statistics(question, (2,)), _statistics(question, (0, 2))
    within, between = variance_NC1[:, 0, 0].mean(), mean_NC1[:, 0, 0].var()
    return Step(
        says="The common mistake is a slip in the table of instance statistics (a row's mean is the sum of its own "
        f"{len(question.tensor[0][0])} features, divided by their number). A check finds it: over the samples, the "
        f"instance means of channel 1 average to its batch mean {mean_NC1[:, 0, 0].mean()}; over the channels, those "
        "of a sample average to its layer mean; and a batch variance is the mean of the instance variances plus the "
        "variance of the instance means.",
        formula=rf"\sigma^2_{{\mathrm{{batch}}, 1}} = {_board.number(within)} + {_board.number(between)} = "
        rf"{_board.number(variance_1C1[0, 0, 0])}",
        value={"within": within, "between": between},
    )


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """PyTorch's own statistics and normalisation layers, and which inputs a layer's output depends on."""
    import torch
    from torch import nn

    x_NCF = torch.tensor(
        [[[float(x) for x in row] for row in sample] for sample in question.tensor], dtype=torch.float64
    )
    eps = float(question.eps) or torch.finfo(torch.float64).tiny  # torch refuses 0; this changes no digit
    probe_NCF = torch.rand(3, 3, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    layers: dict[str, Callable[[torch.Tensor], nn.Module]] = {
        "batch": lambda x: nn.BatchNorm1d(x.shape[1], eps, affine=False),
        "layer": lambda x: nn.LayerNorm(x.shape[1:], eps, elementwise_affine=False),
        "instance": lambda x: nn.InstanceNorm1d(x.shape[1], eps),
    }
    for kind in AXES:
        axes = _axes_of(layers[kind](probe_NCF).double(), probe_NCF)
        variance, mean = torch.var_mean(x_NCF, dim=axes, correction=0)
        found = {"mean": mean, "variance": variance, "axes": axes}
        yield agree(f"{kind} statistics", "torch, axes seen by autograd", answer[kind], found)
        unit_NCF = layers[kind](x_NCF).double()(x_NCF)
        yield agree(f"{kind} normalised", "torch.nn layer", answer["normalised"][kind], unit_NCF)


def _axes_of(layer: Any, probe_NCF: "Tensor") -> list[int]:
    """The axes along which other entries move the first output."""
    import torch

    (gradient,) = torch.autograd.grad(layer(probe_NCF.requires_grad_())[0, 0, 0], probe_NCF)
    return [axis for axis in range(3) if gradient.narrow(axis, 1, 2).any()]
