"""Objectives: what a training minimises. A member is one function, named like its file.

`def foo(model, batch, generator, *, ...) -> Loss`: a differentiable mean over the samples of the batch.
Random noise and masks are drawn from `generator`; None means evaluation, where the input is left as it is.

A member that can train autoencoders also has `def corrupt(x, generator, *, ...) -> Seen`: the corrupted input
and which entries count, so that a grid of autoencoders shares it; a member without it trains each separately.
A member that reads the labels says `NEEDS_LABELS = True`: `train` demands it, `pretrain` refuses it.

Laws, tested over the folder: the loss is a finite scalar, differentiable, the mean over samples (so that
parts of a batch add up to the whole), the same for the same generator, and it falls on a toy set.
"""

from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from vitruvius.core import plugins
from vitruvius.core.errors import UserError, VitruviusError

if TYPE_CHECKING:
    from torch import Generator, Tensor, nn


class Batch(NamedTuple):
    """Samples as the model sees them: normalised floats, with labels if there are any."""

    x: "Tensor"
    y: "Tensor | None"
    other: "Tensor | None" = None  # labels of the images that these are mixed with, if they are
    share: "Tensor | None" = None  # how much of each mixed image is its own, in 0..1


class Loss(NamedTuple):
    """The mean loss of a batch and, if there are labels, the number of correctly classified samples."""

    value: "Tensor"  # scalar
    correct: "Tensor | None" = None  # scalar, a count


class Seen(NamedTuple):
    """The input that a model sees, and which entries of its output count in the loss (None: all)."""

    x: "Tensor"
    counts: "Tensor | None" = None


class Objective(Protocol):
    """The type of a member; its own options are keywords with defaults."""

    def __call__(
        self, model: "nn.Module", batch: Batch, generator: "Generator | None", **options: Any
    ) -> Loss: ...


def get(name: str) -> Objective:
    """Return the objective of that name, or the user's own, `./mine.py:NAME`, with its output checked."""
    objective: Objective = plugins.function("objectives", name)
    if ".py:" not in name:
        return objective

    @wraps(objective)
    def checked(model: "nn.Module", batch: Batch, generator: "Generator | None", **options: Any) -> Loss:
        try:
            loss = objective(model, batch, generator, **options)
        except VitruviusError:
            raise
        except Exception as error:
            raise UserError(f"objective '{name}': {type(error).__name__}: {error}") from error
        if not isinstance(loss, Loss) or loss.value.ndim:
            raise UserError(f"objective '{name}': it must return a Loss whose value is one number")
        return loss

    return checked


def squared_error(output: "Tensor", clean_BD: "Tensor", counts: "Tensor | None" = None) -> "Tensor":
    r"""Return $\frac1B\sum_b\sum_d (\hat x_{bd} - x_{bd})^2$ over the counted entries; one number per model.

    >>> import torch
    >>> squared_error(torch.tensor([[1.0, 2.0], [0.0, 0.0]]), torch.zeros(2, 2)).item()
    2.5
    """
    error = (output - clean_BD).square()
    if counts is not None:
        error = error * counts
    return error.sum(-1).mean(-1)


def penalty(model: "nn.Module") -> "Tensor":
    r"""Return $\sum_i \lVert W_i\rVert_F^2$ over the weight matrices (no biases, no norms), per model."""
    import torch

    parameters = ((name, p) for name, p in model.named_parameters() if p.requires_grad)
    matrices = [p for name, p in parameters if name.endswith("weight") and p.ndim >= 2]
    return torch.stack([matrix.square().sum((-2, -1)) for matrix in matrices]).sum(0)


def reconstruction_loss(
    model: "nn.Module", x: "Tensor", seen: Seen, generator: "Generator | None", l2: float
) -> Loss:
    """Return the loss of a model that sees `seen` and should output `x`; only training adds the penalty."""
    counts = None if seen.counts is None else seen.counts.flatten(1)
    value = squared_error(model(seen.x).flatten(1), x.flatten(1), counts)
    return Loss(value + l2 * penalty(model) if l2 and generator is not None else value)
