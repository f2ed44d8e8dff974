"""A grid of autoencoders, objectives x latent sizes x repeats, trained as one model by the training loop.

The loss is the sum over all of them, so each gets its own gradient, and the optimisers treat every weight by
itself: the result is that of training one at a time, but autoencoders of one shape share batched matrix
products (1.8 times as fast on the assignment's grid of 36). Shapes: M autoencoders, B batch, D entries.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Generator, Tensor, nn

from vitruvius.nn.autoencoder import Autoencoder, Stack
from vitruvius.nn.masked import MaskedAutoencoder
from vitruvius.objectives import Batch, Loss, Seen, penalty, squared_error
from vitruvius.training.batches import Batches
from vitruvius.training.loop import EVALUATION_BATCH, Measure

Model = Autoencoder | MaskedAutoencoder
Corrupt = Callable[[Tensor, Generator | None], Seen]
Show = Callable[[MaskedAutoencoder, Tensor, Generator], tuple[Tensor, Tensor]]


class Cell(NamedTuple):
    """One autoencoder of the grid."""

    objective: str
    latent: int
    repeat: int

    @property
    def kind(self) -> str:
        """The objective without the file of a user's own."""
        return self.objective.rpartition(":")[2]

    @property
    def name(self) -> str:
        """The prefix of its weights, as in 'denoise.64.0'."""
        return f"{self.kind}.{self.latent}.{self.repeat}"


class Together(nn.Module):
    """Autoencoders of one shape, each with its own corruption of the same batch."""

    def __init__(self, cells: list[Cell], models: list[Autoencoder], corruptions: list[Corrupt], l2: float):
        super().__init__()
        self.cells, self.corruptions, self.l2, self.stack = tuple(cells), corruptions, l2, Stack.of(models)

    def losses(self, batch: Batch, generator: Generator | None) -> Tensor:
        """Return the loss of each, (M,)."""
        clean_BD = batch.x.flatten(1)
        seen = [corrupt(clean_BD, generator) for corrupt in self.corruptions]
        counts_MBD = None
        if any(part.counts is not None for part in seen):
            every = torch.ones_like(clean_BD, dtype=torch.bool)
            counts_MBD = torch.stack([every if part.counts is None else part.counts for part in seen])
        value_M = squared_error(self.stack(torch.stack([part.x for part in seen])), clean_BD, counts_MBD)
        return value_M + self.l2 * penalty(self.stack) if self.l2 and generator is not None else value_M

    def models(self) -> Iterator[tuple[Cell, Model]]:
        """Yield each autoencoder as its own module, with a copy of its weights."""
        return ((cell, self.stack.one(index)) for index, cell in enumerate(self.cells))

    def show(self, index: int, x: Tensor, generator: Generator) -> tuple[Tensor, Tensor]:
        """Return samples as one autoencoder sees them in training, and its output."""
        seen = self.corruptions[index](x, generator).x
        return seen, self.stack.one(index)(seen)


class Alone(nn.Module):
    """One autoencoder that shares no matrix product with others."""

    def __init__(self, cell: Cell, model: Model, measure: Measure, show: Show | None = None) -> None:
        super().__init__()
        self.cells, self.model, self.measure, self._show = (cell,), model, measure, show

    def losses(self, batch: Batch, generator: Generator | None) -> Tensor:
        """Return its loss, (1,)."""
        return self.measure(self.model, batch, generator).value[None]

    def models(self) -> Iterator[tuple[Cell, Model]]:
        """Yield the autoencoder."""
        yield self.cells[0], self.model

    def show(self, index: int, x: Tensor, generator: Generator) -> tuple[Tensor, Tensor]:
        """Return samples as the autoencoder sees them in training, and its output."""
        if self._show is None:
            return x, self.model(x)
        assert isinstance(self.model, MaskedAutoencoder)
        return self._show(self.model, x, generator)


class Grid(nn.Module):
    """All autoencoders of a run, and the losses of the current epoch's steps."""

    trace: Tensor
    steps: Tensor

    def __init__(self, parts: Sequence[Together | Alone], samples: int, batch: int) -> None:
        super().__init__()
        self.parts, self._parts = nn.ModuleList(parts), tuple(parts)
        self.cells = tuple(cell for part in parts for cell in part.cells)
        self.samples, self.batch, self._seen = samples, batch, 0
        # Buffers, because they belong to the checkpoint: an epoch may be left and continued in its middle.
        self.register_buffer("trace", torch.zeros(-(-samples // batch), len(self.cells)))
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))

    def losses(self, batch: Batch, generator: Generator | None) -> Tensor:
        """Return the loss of every autoencoder, in the order of `cells`."""
        return torch.cat([part.losses(batch, generator) for part in self._parts])

    def models(self) -> Iterator[tuple[Cell, Model]]:
        """Yield every autoencoder as its own module."""
        return (found for part in self._parts for found in part.models())

    def shown(self, x: Tensor, generator: Callable[[], Generator]) -> Iterator[tuple[Cell, Tensor, Tensor]]:
        """Yield for every autoencoder the samples as it sees them in training, and its output."""
        for part in self._parts:
            for index, cell in enumerate(part.cells):
                yield cell, *part.show(index, x, generator())

    def keep_losses(self, losses: Tensor, samples: int) -> None:
        """Store the losses of a step; of a batch that is cut into parts, the mean over all its samples."""
        step = int(self.steps)
        losses, row = losses.detach().to(self.trace), self.trace[step]
        fraction = samples / (self._seen + samples)
        row.copy_(row + (losses - row) * fraction if self._seen else losses)
        self._seen += samples
        if self._seen >= min(self.batch, self.samples - step * self.batch):
            self.steps += 1
            self._seen = 0

    def take_losses(self) -> Tensor:
        """Return the losses of the steps since the last call, (steps, cells)."""
        found = self.trace[: int(self.steps)].clone()
        self.steps.zero_()
        return found


def measure(model: nn.Module, batch: Batch, generator: Generator | None) -> Loss:
    """Return the sum of the losses of a grid: what the training loop minimises."""
    assert isinstance(model, Grid)
    losses = model.losses(batch, generator)
    if generator is not None:
        model.keep_losses(losses, len(batch.x))
    return Loss(losses.sum())


def validation_losses(grid: Grid, batches: Batches) -> list[float]:
    """Return the mean loss of every autoencoder over a split, in evaluation mode: the input is clean."""
    grid.eval()
    total = torch.zeros(len(grid.cells), dtype=torch.float64)
    with torch.no_grad():
        for sample_B in torch.split(torch.arange(len(batches)), EVALUATION_BATCH):
            total += grid.losses(batches.batch(sample_B), None).cpu().double() * len(sample_B)
    grid.train()
    return (total / len(batches)).tolist()
