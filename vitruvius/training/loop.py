"""The training loop: the only one. A model, an objective, data and a recipe; epoch records come out.

Every random number is a function of (seed, epoch, step or sample) or of torch's global generator, whose state belongs
to the checkpoint; so a run that is stopped anywhere and continued from its checkpoint takes the same steps to the bit.
"""

import math
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from vitruvius.core.blocks import Block, Text
from vitruvius.core.config import Strict
from vitruvius.core.errors import Interrupted, WorkFailed
from vitruvius.core.records import Note, Progress, Record
from vitruvius.core.signals import StopRequest
from vitruvius.objectives import Batch, Loss
from vitruvius.training import distributed as world
from vitruvius.training import seeds
from vitruvius.training.batches import Feed
from vitruvius.training.recipe import learning_rate

Measure = Callable[[nn.Module, Batch, torch.Generator | None], Loss]
EVALUATION_BATCH = 500


@dataclass(frozen=True)
class Recipe:
    """How a model is trained."""

    epochs: int = 10
    batch: int = 32  # samples per optimiser step, over all processes
    accumulate: int = 1  # parts into which a batch is cut to save memory
    lr: float = 1e-3
    warmup: int = 1000  # steps
    decay: bool = True  # after the warm-up the rate follows half a cosine; without, it stays at its peak
    clip: float = 0.0  # largest norm of the gradient; 0 = no clipping
    seed: int = 0
    autocast: torch.dtype | None = None
    checkpoint: int = 500  # steps between two checkpoints
    time_limit: float | None = None  # seconds


@dataclass
class Cursor:
    """Where a training stands; with weights, optimiser and RNG this is the whole state."""

    step: int = 0  # optimiser steps taken
    epoch: int = 0
    position: int = 0  # samples of this epoch already seen
    loss: float = 0.0  # sums over this epoch so far
    correct: int = 0
    norm: float = 0.0
    records: int = 0  # epoch records written
    best_epoch: int = 0
    best_score: float = -math.inf
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """The cursor without infinities."""
        return asdict(self) | {"best_score": self.best_score if math.isfinite(self.best_score) else None}

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> "Cursor":
        """A cursor read back."""
        return cls(
            **fields | {"best_score": -math.inf if fields["best_score"] is None else fields["best_score"]}
        )


class Timing(Strict):
    """What differs from run to run though the work is the same."""

    seconds: float
    images_per_second: float


class Epoch(Record):
    """One epoch: means over the training samples as they were met, and the validation set afterwards."""

    epoch: int
    train_loss: float
    train_accuracy: float | None
    val_loss: float | None
    val_accuracy: float | None
    lr: float
    grad_norm: float
    timing: Timing

    def view(self) -> Iterable[Block]:
        val = "" if self.val_loss is None else f"  validation loss {self.val_loss:.4f}"
        for label, accuracy in (
            ("accuracy", self.train_accuracy),
            ("validation accuracy", self.val_accuracy),
        ):
            val += "" if accuracy is None else f"  {label} {accuracy:.2%}"
        speed = f"{self.timing.seconds:.1f} s, {self.timing.images_per_second:,.0f} images/s"
        yield Text(text=f"epoch {self.epoch:>3}  loss {self.train_loss:.4f}{val}  {speed}")


@dataclass
class Job:
    """A training in progress."""

    model: nn.Module
    measure: Measure
    train: Feed
    validation: Feed
    recipe: Recipe
    optimiser: torch.optim.Optimizer
    cursor: Cursor = field(default_factory=Cursor)
    compiled: Measure | None = None  # used for full batches where it is there
    save: Callable[["Job"], None] = lambda job: None
    keep_best: Callable[["Job"], None] = lambda job: None
    stop: StopRequest = field(default_factory=StopRequest)

    @property
    def steps_per_epoch(self) -> int:
        """Optimiser steps of one epoch; the last one may have fewer samples."""
        return math.ceil(len(self.train) / self.recipe.batch)


def run(job: Job) -> Iterator[Record]:
    """Train from where the cursor stands to the last epoch, yielding progress and epoch records."""
    recipe, cursor = job.recipe, job.cursor
    started = time.perf_counter() - cursor.seconds
    while cursor.epoch < recipe.epochs:
        epoch_started = time.perf_counter()
        first = cursor.position
        order = job.train.order(cursor.epoch)
        for begin in range(cursor.position, len(order), recipe.batch):
            step(job, order[begin : begin + recipe.batch])
            cursor.seconds = time.perf_counter() - started
            if world.any_of(bool(job.stop)):
                _leave(job)
            if cursor.position < len(order):
                out_of_time = recipe.time_limit is not None and cursor.seconds >= recipe.time_limit
                if world.any_of(out_of_time):
                    job.save(job)
                    text = (
                        f"stopped by the time limit after step {cursor.step:,}, in epoch {cursor.epoch + 1}"
                    )
                    yield Note(text=f"{text}: --resume goes on", warning=True)
                    return
                if cursor.step % recipe.checkpoint == 0:
                    job.save(job)
            yield Progress(
                done=cursor.position, total=len(order), label=f"epoch {cursor.epoch + 1}/{recipe.epochs}"
            )
        seconds = max(time.perf_counter() - epoch_started, 1e-9)
        yield _close_epoch(
            job, Timing(seconds=seconds, images_per_second=(cursor.position - first) / seconds)
        )
        job.save(job)


def step(job: Job, sample_B: Tensor) -> None:
    """One optimiser step on these samples, cut into parts that together equal the whole batch."""
    recipe, cursor = job.recipe, job.cursor
    total = recipe.epochs * job.steps_per_epoch if recipe.decay else None
    rate = learning_rate(cursor.step + 1, recipe.lr, recipe.warmup, total)
    for group in job.optimiser.param_groups:
        group["lr"] = rate
    loss, correct = _backward(job, sample_B)
    norm = float(nn.utils.clip_grad_norm_(job.model.parameters(), recipe.clip or math.inf))
    if not math.isfinite(loss) or not math.isfinite(norm):
        what = f"loss became {loss}" if not math.isfinite(loss) else f"gradient's norm became {norm}"
        where = f"step {cursor.step + 1} (epoch {cursor.epoch + 1})"
        raise WorkFailed(
            f"the {what} in {where}: training stopped, the last good state is kept; a smaller --lr or clipped "
            "gradients often help, and `vitruvius doctor` names the causes of such failures"
        )
    job.optimiser.step()
    job.optimiser.zero_grad(set_to_none=True)
    cursor.step += 1
    cursor.position += len(sample_B)
    cursor.loss += loss * len(sample_B)
    cursor.correct += correct
    cursor.norm += norm


def evaluate(measure: Measure, model: nn.Module, feed: Feed) -> tuple[float, float | None]:
    """Mean loss and accuracy over a split, in evaluation mode and without gradients."""
    model.eval()
    loss, correct = 0.0, 0
    with torch.no_grad():
        for sample_B in torch.split(torch.arange(len(feed)), EVALUATION_BATCH):
            found = measure(model, feed.batch(sample_B), None)
            loss += float(found.value) * len(sample_B)
            correct += 0 if found.correct is None else int(found.correct)
    model.train()
    return loss / len(feed), None if feed.y is None else correct / len(feed)


def _backward(job: Job, sample_B: Tensor) -> tuple[float, int]:
    """Gradients of the mean loss over the whole batch, whatever the parts and processes; its loss and hits."""
    recipe = job.recipe
    mine = sample_B[world.rank() :: world.size()]
    generator = seeds.generator(recipe.seed, "step", job.cursor.step, world.rank())
    total = torch.zeros(2, dtype=torch.float64)
    parts = [part for part in mine.tensor_split(min(recipe.accumulate, max(1, len(mine)))) if len(part)]
    for index, part in enumerate(parts):
        batch = job.train.batch(part, job.cursor.epoch)
        full = len(part) * recipe.accumulate * world.size() == recipe.batch
        measure = job.compiled if job.compiled is not None and full else job.measure
        with world.synchronised(job.model, index == len(parts) - 1), _autocast(job):
            found = measure(job.model, batch, generator)
            share = len(part) / len(sample_B)  # parts and processes may be of unequal size
            # Distributed training averages gradients over processes; the factor makes that a sum.
            (found.value * (share * world.size())).backward()  # type: ignore[no-untyped-call]
        hits = 0 if found.correct is None else int(found.correct)
        total += torch.tensor([float(found.value.detach()) * share, hits], dtype=torch.float64)
    loss, correct = world.summed(total).tolist()
    return loss, round(correct)


def _autocast(job: Job) -> Any:
    kind = job.train.device.type
    return torch.autocast(kind, job.recipe.autocast, enabled=job.recipe.autocast is not None)


def _close_epoch(job: Job, timing: Timing) -> Epoch:
    """The record of the epoch that ends here; the best weights are kept, the cursor moves on."""
    cursor, seen = job.cursor, max(1, job.cursor.position)
    val_loss, val_accuracy = (
        evaluate(job.measure, job.model, job.validation) if len(job.validation) else (None, None)
    )
    steps = max(1, math.ceil(seen / job.recipe.batch))
    record = Epoch(
        epoch=cursor.epoch + 1,
        train_loss=cursor.loss / seen,
        train_accuracy=None if job.train.y is None else cursor.correct / seen,
        val_loss=val_loss,
        val_accuracy=val_accuracy,
        lr=job.optimiser.param_groups[0]["lr"],
        grad_norm=cursor.norm / steps,
        timing=timing,
    )
    score = (
        val_accuracy
        if val_accuracy is not None
        else -val_loss
        if val_loss is not None
        else float(cursor.epoch)
    )
    cursor.epoch, cursor.position, cursor.records = cursor.epoch + 1, 0, cursor.records + 1
    cursor.loss, cursor.correct, cursor.norm = 0.0, 0, 0.0
    if score > cursor.best_score:
        cursor.best_score, cursor.best_epoch = score, cursor.epoch
        job.keep_best(job)
    return record


def _leave(job: Job) -> None:
    job.save(job)
    raise Interrupted(
        f"stopped after step {job.cursor.step}; the state is saved", job.stop.signal or signal.SIGTERM
    )
