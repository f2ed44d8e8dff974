"""Objectives: what a training step minimises. A member is one function, named like its file.

`def foo(model, batch, generator, *, ...) -> Loss`: a differentiable mean over the samples of the batch. What is random
in an objective (noise, masks) is drawn from `generator`; None means evaluation, where the input is left as it is.

A member that autoencoders can be trained with also has `def corrupt(x, generator, *, ...) -> Seen`: what the model sees
of the input and which entries count, so that a grid of autoencoders sees it once; one without it trains each by itself.
One that reads the labels says `NEEDS_LABELS = True`, and pretraining, which has none, refuses it.

Laws, tested over the folder: the loss is a finite scalar, differentiable, the mean over samples (so that parts of a
batch add up to the whole), the same for the same generator, and it falls on a toy set.
"""

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from vitruvius.core import plugins

if TYPE_CHECKING:
    from torch import Generator, Tensor, nn


class Batch(NamedTuple):
    """Samples as the model sees them: normalised floats, with labels if there are any."""

    x: "Tensor"
    y: "Tensor | None"


class Loss(NamedTuple):
    """The mean loss of a batch and, where there are labels, how many were classified right."""

    value: "Tensor"  # scalar
    correct: "Tensor | None" = None  # scalar, a count


class Objective(Protocol):
    """What a member is; options beyond these are keywords with defaults."""

    def __call__(
        self, model: "nn.Module", batch: Batch, generator: "Generator | None", **options: Any
    ) -> Loss: ...


def get(name: str) -> Objective:
    """The objective of that name."""
    return plugins.function("objectives", name)
