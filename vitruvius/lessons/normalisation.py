r"""Batch, layer and instance normalisation: the same mean and variance over different axes of one tensor.

Axes: 0 batch (N samples), 1 channels (C), 2 features (F). The variance divides by the number of values, as
normalisation layers do, not by that number minus one."""

from collections.abc import Callable, Iterator
from random import Random
from typing import Annotated, Any

import numpy as np
import sympy
import torch
from torch import Tensor, nn

from vitruvius import lessons
from vitruvius.lessons import Answer, Attempt, Board, Exact, Matrix, Proof, Step, exact, latex
from vitruvius.lessons._board import added
from vitruvius.lessons._figures import heatmap
from vitruvius.lessons._proofs import agree
from vitruvius.lessons._tensors import Array, tensor

SUBJECT = "training"
TASK = (
    "Batch, layer and instance normalisation of a tensor of shape (samples, channels, features): for "
    "each kind the means and variances (batch: one per channel, layer: one per sample, instance: one "
    "per sample and channel), and the normalised tensor."
)
LARGEST = 4096
AXES = {"batch": (0, 2), "layer": (1, 2), "instance": (2,)}
"""The axes that each kind averages over."""
KEPT = {"batch": "channel", "layer": "sample", "instance": "sample and channel"}
"""What there is one statistic for."""


class Question(lessons.Question):
    """A tensor of shape (batch, channels, features)."""

    limits = {"N": (1, LARGEST), "C": (1, LARGEST), "F": (2, LARGEST)}
    tensor: Annotated[tuple[Matrix, ...], "N C F"] = exact(
        (((4, 3, 2), (1, 4, 3)), ((3, 4, 1), (4, 2, 2)), ((3, 2, 3), (4, 1, 2)), ((1, 1, 3), (4, 1, 2)))
    )
    eps: Exact = exact(0)
    """Added to the variance before the root; layers use 1e-5, so that equal values do not divide by zero."""

    def refuse(self) -> None:
        if np.prod(list(self.sizes.values())) > LARGEST:
            raise ValueError(f"tensor has more than {LARGEST} values")
        if self.eps < 0:
            raise ValueError(f"eps is {self.eps}: needs at least 0")
        for kind, axes in AXES.items():
            if (_statistics(self, axes)[1] + self.eps == 0).any():
                raise ValueError(f"tensor has equal values with a {kind} variance of 0: needs eps above 0")


def solve(question: Question) -> Iterator[Step | Answer]:
    """The statistics of the three kinds, exactly, then the normalised values."""
    x_NCF, fields, normalised = np.array(question.tensor, dtype=object), dict[str, Any](), dict[str, Array]()
    for kind, axes in AXES.items():
        mean, variance = _statistics(question, axes)
        statistics = {"mean": mean.squeeze(axes), "variance": variance.squeeze(axes), "axes": list(axes)}
        unit_NCF = (x_NCF - mean).astype(float) / np.sqrt((variance + question.eps).astype(float))
        fields[kind], normalised[kind] = statistics, unit_NCF
        board = Board(statistics, statistics=statistics, name=kind.capitalize(), kind=kind, kept=KEPT[kind])
        board |= {"groups": mean.size, "size": x_NCF.size // mean.size}
        group = x_NCF[tuple(slice(None) if axis in axes else 0 for axis in range(3))].flatten().tolist()
        squares = [rf"({latex(x)} - {latex(mean.flat[0])})^2" for x in group]
        board |= {"first": mean.flat[0], "spread": variance.flat[0], "sum": added(group)}
        board["squares"] = added(squares)
        board["averaged"] = " and ".join(("samples", "channels", "features")[axis] for axis in axes)
        yield board.step(
            "<name> normalisation averages over <averaged>: one mean and one variance for each <kept>, "
            "<groups> of each, from <size> values.",
            r"\mu_1 = \frac{<sum>}{<size>} = <first>, \quad \sigma^2_1 = \frac{<squares>}{<size>} = "
            r"<spread>, \quad \mu_{\mathrm{<kind>}} = <mean>, \quad \sigma^2_{\mathrm{<kind>}} = <variance>",
            "statistics",
        )
        yield _unit_step(question, kind, unit_NCF, mean.flat[0], variance.flat[0])
    yield _check_step(question)
    yield Answer(fields={**fields, "normalised": normalised})


def _statistics(question: Question, axes: tuple[int, ...]) -> tuple[Array, Array]:
    """Exact mean and variance over some axes, which are kept with size 1."""
    x_NCF = np.array(question.tensor, dtype=object)
    mean = x_NCF.mean(axis=axes, keepdims=True)
    return mean, ((x_NCF - mean) ** 2).mean(axis=axes, keepdims=True)


def _unit_step(question: Question, kind: str, unit_NCF: Array, mean: Any, variance: Any) -> Step:
    first, root = question.tensor[0][0][0], sympy.sqrt(sympy.Rational(variance + question.eps))
    board = Board(first=first, mean=mean, root=sympy.latex(root), unit=unit_NCF, found=unit_NCF[0, 0, 0])
    board["normalised"] = {kind: unit_NCF}
    board["form"] = sympy.latex(sympy.Rational(first - mean) / root)
    samples, channels, features = unit_NCF.shape
    rows = [f"sample {n}, channel {c}" for n in range(1, samples + 1) for c in range(1, channels + 1)]
    numbers, flat = unit_NCF.size <= 64, unit_NCF.reshape(-1, features)
    return board.step(
        "Take off that mean and divide by the root of that variance: the first entry becomes <found>.",
        r"\hat{x}_{111} = \frac{<first> - <mean>}{<root>} = <form> \approx <found>",
        "unit",
        heatmap(f"After {kind} normalisation", flat, rows, "feature ", numbers=numbers),
        "normalised",
    )


def _check_step(question: Question) -> Step:
    """The kinds are related, which catches slips in the table of instance statistics."""
    mean_N, variance_N = (found[:, 0, 0] for found in _statistics(question, (2,)))
    board = Board(within=variance_N.mean(), between=mean_N.var(), mean=mean_N.mean())
    board |= {"features": question.sizes["F"], "total": _statistics(question, (0, 2))[1][0, 0, 0]}
    return board.step(
        "The common mistake is a slip in the table of instance statistics (a row's mean is the sum of its "
        "own <features> features, divided by their number). A check finds it: over the samples, the instance "
        "means of channel 1 average to its batch mean <mean>; over the channels, those of a sample average "
        "to its layer mean; and a batch variance is the mean of the instance variances plus the variance of "
        "the instance means.",
        r"\sigma^2_{\mathrm{batch}, 1} = <within> + <between> = <total>",
        "within between",
    )


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """PyTorch's own statistics and normalisation layers, and which inputs a layer's output depends on."""
    x_NCF = tensor(question.tensor)
    eps = float(question.eps) or torch.finfo(torch.float64).tiny  # torch refuses 0; this changes no digit
    probe_NCF = torch.rand(3, 3, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    probe_NCF.requires_grad_()
    layers: dict[str, Callable[[Tensor], nn.Module]] = {
        "batch": lambda x: nn.BatchNorm1d(x.shape[1], eps, affine=False),
        "layer": lambda x: nn.LayerNorm(x.shape[1:], eps, elementwise_affine=False),
        "instance": lambda x: nn.InstanceNorm1d(x.shape[1], eps),
    }
    for kind, layer in layers.items():
        # the axes along which other entries move the first output
        (gradient,) = torch.autograd.grad(layer(probe_NCF).double()(probe_NCF)[0, 0, 0], probe_NCF)
        axes = [axis for axis in range(3) if gradient.narrow(axis, 1, 2).any()]
        variance, mean = torch.var_mean(x_NCF, dim=axes, correction=0)
        found = {"mean": mean, "variance": variance, "axes": axes}
        yield agree(f"{kind} statistics", "torch, axes seen by autograd", answer[kind], found)
        unit_NCF = layer(x_NCF).double()(x_NCF)
        yield agree(f"{kind} normalised", "torch.nn layer", answer["normalised"][kind], unit_NCF)


def attempt(question: Question, write: Attempt) -> None:
    """The statistics of the three kinds, then the normalised tensors."""
    x, eps, found = np.array(question.tensor, float), float(question.eps), dict[str, Any]()
    for kind, axes in AXES.items():
        right = {"mean": x.mean(axes), "variance": x.var(axes), "axes": list(axes)}
        found[kind] = write(
            kind,
            right,
            f"mean and variance for each {KEPT[kind]} (axes: those averaged over, counted from 0)",
            "Over which axes is averaged, and what is the sum of squares divided by?",
            r"\mu = \frac1n \sum x, \quad \sigma^2 = \frac1n \sum (x - \mu)^2",
            sample=("the variance is divided by n - 1", right | {"variance": x.var(axes, ddof=1)}),
            deviation=("the standard deviation is given for the variance", right | {"variance": x.std(axes)}),
        )

    def normalised(power: float) -> dict[str, Any]:
        units = {}
        for kind, axes in AXES.items():
            mean, variance = (np.expand_dims(found[kind][of], axes) for of in ("mean", "variance"))
            units[kind] = (x - mean) / (variance + eps) ** power
        return units

    write(
        "normalised",
        normalised(0.5),
        "the normalised tensor of each kind",
        "What is taken off, and what is divided by?",
        r"\hat x = \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}}",
        no_root=("the variance is divided by, not its root", normalised(1.0)),
    )


def draw(random: Random) -> dict[str, Any]:
    """Four samples of two channels with three features, no row of equal ones."""
    return {"tensor": [[random.sample(range(1, 7), 3) for _ in range(2)] for _ in range(4)]}
