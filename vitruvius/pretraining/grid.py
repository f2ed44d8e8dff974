"""The autoencoders of a run: objectives x latent sizes x repeats, trained as one model by the one loop.

The loss is the sum over all of them, so each gets its own gradient, and Adam treats every weight by itself: this is
training one at a time, but those of one shape share each product (1.8 times as fast on the assignment's grid of 36).
Shapes: M autoencoders of one shape, B batch, D entries of a sample.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Generator, Tensor, nn

from vitruvius.core.errors import UserError, VitruviusError
from vitruvius.nn.autoencoder import Autoencoder, Stack
from vitruvius.objectives import Batch, Loss
from vitruvius.objectives import Seen, penalty, squared_error
from vitruvius.training.batches import Batches
from vitruvius.training.loop import EVALUATION_BATCH, Measure

Corrupt = Callable[[Tensor, Generator | None], Seen]
Show = Callable[[nn.Module, Tensor, Generator], tuple[Tensor, Tensor]]


class Cell(NamedTuple):
    """One autoencoder of the grid."""

    objective: str
    latent: int
    repeat: int

    @property
    def kind(self) -> str:
        """Its objective, without the file of a user's own."""
        return self.objective.rpartition(":")[2]

    @property
    def name(self) -> str:
        """What files and tables call it, as in 'denoise.64.0'."""
        return f"{self.kind}.{self.latent}.{self.repeat}"


class Together(nn.Module):
    """Autoencoders of one shape, each with its own corruption of the same batch."""

    def __init__(
        self, cells: Sequence[Cell], models: Sequence[Autoencoder], corruptions: Sequence[Corrupt], l2: float
    ):
        super().__init__()
        self.cells, self.corruptions, self.l2 = tuple(cells), tuple(corruptions), l2
        self.stack = Stack.of(models)

    def losses(self, batch: Batch, generator: Generator | None) -> Tensor:
        """The loss of each, (M,)."""
        clean_BD = batch.x.flatten(1)
        seen = [corrupt(clean_BD, generator) for corrupt in self.corruptions]
        counts_MBD = None
        if any(part.counts is not None for part in seen):
            every = torch.ones_like(clean_BD, dtype=torch.bool)
            counts_MBD = torch.stack([every if part.counts is None else part.counts for part in seen])
        value_M = squared_error(self.stack(torch.stack([part.x for part in seen])), clean_BD, counts_MBD)
        return value_M + self.l2 * penalty(self.stack) if self.l2 and generator is not None else value_M

    def models(self) -> Iterator[tuple[Cell, nn.Module]]:
        """Each by itself, with a copy of its weights."""
        return ((cell, self.stack.one(place)) for place, cell in enumerate(self.cells))

    def show(self, place: int, x: Tensor, generator: Generator) -> tuple[Tensor, Tensor]:
        """Samples as one of them sees them in training, and its answers."""
        seen = self.corruptions[place](x, generator).x
        return seen, self.stack.one(place)(seen)


class Alone(nn.Module):
    """A model that shares no product with another."""

    def __init__(self, cell: Cell, model: nn.Module, measure: Measure, show: Show | None = None) -> None:
        super().__init__()
        self.cells, self.model, self.measure, self._show = (cell,), model, measure, show

    def losses(self, batch: Batch, generator: Generator | None) -> Tensor:
        """Its loss, (1,); a fault in a user's own objective is told as such."""
        name = self.cells[0].objective
        try:
            found = self.measure(self.model, batch, generator)
        except Exception as error:
            if ".py:" not in name or isinstance(error, VitruviusError):
                raise
            raise UserError(f"--objective {name}: {type(error).__name__}: {error}") from error
        if not isinstance(found, Loss) or found.value.ndim:
            given = (
                f"a loss of shape {tuple(found.value.shape)}"
                if isinstance(found, Loss)
                else type(found).__name__
            )
            raise UserError(f"--objective {name}: it must return Loss(value) with one number, not {given}")
        return found.value[None]

    def models(self) -> Iterator[tuple[Cell, nn.Module]]:
        """It."""
        return iter([(self.cells[0], self.model)])

    def show(self, place: int, x: Tensor, generator: Generator) -> tuple[Tensor, Tensor]:
        """Samples as it sees them in training, and its answers."""
        return (x, self.model(x)) if self._show is None else self._show(self.model, x, generator)


class Grid(nn.Module):
    """All autoencoders of a run, and the losses of the steps of the current epoch."""

    trace: Tensor
    steps: Tensor

    def __init__(self, parts: Sequence[Together | Alone], steps_per_epoch: int) -> None:
        super().__init__()
        self.parts = nn.ModuleList(parts)
        self.cells = tuple(cell for part in parts for cell in part.cells)
        # Buffers, because they belong to the checkpoint: an epoch may be left and continued in its middle.
        self.register_buffer("trace", torch.zeros(steps_per_epoch, len(self.cells)))
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))

    def losses(self, batch: Batch, generator: Generator | None) -> Tensor:
        """The loss of every autoencoder, in the order of `cells`."""
        return torch.cat([part.losses(batch, generator) for part in self._parts()])

    def models(self) -> Iterator[tuple[Cell, nn.Module]]:
        """Every autoencoder by itself."""
        return (found for part in self._parts() for found in part.models())

    def shown(self, x: Tensor, generator: Callable[[], Generator]) -> Iterator[tuple[Cell, Tensor, Tensor]]:
        """For every autoencoder, samples as it sees them in training and its answers."""
        for part in self._parts():
            for place, cell in enumerate(part.cells):
                yield cell, *part.show(place, x, generator())

    def remember(self, losses: Tensor) -> None:
        """Note the losses of one step."""
        self.trace[self.steps] = losses.detach().to(self.trace)
        self.steps += 1

    def forget(self) -> Tensor:
        """The losses of the steps since the last call, (steps, cells)."""
        found = self.trace[: int(self.steps)].clone()
        self.steps.zero_()
        return found

    def _parts(self) -> Iterator[Together | Alone]:
        yield from self.parts  # type: ignore[misc]


def measure(model: nn.Module, batch: Batch, generator: Generator | None) -> Loss:
    """The objective of a grid: the sum of its losses."""
    assert isinstance(model, Grid)
    losses = model.losses(batch, generator)
    if generator is not None:
        model.remember(losses)
    return Loss(losses.sum())


def validation_losses(grid: Grid, feed: Batches) -> list[float]:
    """The mean loss of every autoencoder over a split, in evaluation mode: the input is clean."""
    grid.eval()
    total = torch.zeros(len(grid.cells), dtype=torch.float64)
    with torch.no_grad():
        for sample_B in torch.split(torch.arange(len(feed)), EVALUATION_BATCH):
            total += grid.losses(feed.batch(sample_B), None).cpu().double() * len(sample_B)
    grid.train()
    return (total / len(feed)).tolist()
