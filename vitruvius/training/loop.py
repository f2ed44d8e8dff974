"""The training loop, the only one: trains a model by an objective, data and a recipe; yields epoch records.

Every random number depends on (seed, epoch, step or sample) or on torch's global generator, whose state is
part of the checkpoint. A run that is stopped anywhere and resumed from its checkpoint therefore takes the
same steps to the bit.
"""

import math
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor, nn

from vitruvius.core.errors import Interrupted, WorkFailed
from vitruvius.core.records import Note, Progress, Record
from vitruvius.core.signals import StopRequest
from vitruvius.objectives import Batch, Loss
from vitruvius.training import distributed, seeds
from vitruvius.training.average import Average
from vitruvius.training.batches import Batches
from vitruvius.training.recipe import Recipe
from vitruvius.training.results import Epoch, Paused, Timing

Measure = Callable[[nn.Module, Batch, torch.Generator | None], Loss]
EVALUATION_BATCH = 500
CERTAINLY_BELOW = 0.999
"""Share of a limit below which rounding cannot make a norm reach it."""


@dataclass
class Cursor:
    """The progress of a training; with weights, optimiser and RNG state it is the whole state."""

    step: int = 0  # optimiser steps taken
    epoch: int = 0
    position: int = 0  # samples of this epoch already seen
    loss: float = 0.0  # sum over the samples of this epoch so far, as the next two
    correct: int = 0
    norm: float = 0.0
    records: int = 0  # epoch records written
    best_epoch: int = 0
    best_score: float | None = None
    seconds: float = 0.0


@dataclass
class Job:
    """A training in progress: what is trained, on what, how, and how far it is."""

    model: nn.Module
    measure: Measure
    train: Batches
    validation: Batches
    recipe: Recipe
    optimiser: torch.optim.Optimizer
    cursor: Cursor = field(default_factory=Cursor)
    autocast: torch.dtype | None = None
    compiled: Measure | None = None  # the compiled objective, used for batches of full size
    save: Callable[["Job"], None] = lambda job: None
    keep_best: Callable[["Job"], None] = lambda job: None
    stop: StopRequest = field(default_factory=StopRequest)
    average: Average | None = None  # of the weights; if there is one, it is evaluated and kept
    patience: int = 0  # epochs without a better one after which the training ends; 0: never
    pause_at: int | None = None  # pause after so many steps in all, with the state saved

    @cached_property
    def parameters(self) -> list[Tensor]:
        """Return the parameters of the model; walking through its modules in every step takes long."""
        return list(self.model.parameters())

    @property
    def is_paused(self) -> bool:
        """Whether the step is reached at which the training is to pause; its end is no pause."""
        is_reached = self.pause_at is not None and self.cursor.step >= self.pause_at
        return is_reached and self.cursor.step < self.recipe.total_steps(len(self.train))


def run(job: Job) -> Iterator[Record]:
    """Train from the cursor to the last step, or to a pause; yield progress and epoch records."""
    recipe, cursor = job.recipe, job.cursor
    total = recipe.total_steps(len(job.train))
    epochs = math.ceil(total / math.ceil(len(job.train) / recipe.batch))
    earlier = cursor.seconds  # of the starts before this one, which the time limit does not count
    started = time.perf_counter() - earlier
    while not has_ended(job) and not job.is_paused:
        epoch_started = time.perf_counter()
        first = cursor.position
        order = job.train.order(cursor.epoch)
        for begin in range(cursor.position, len(order), recipe.batch):
            step(job, order[begin : begin + recipe.batch])
            cursor.seconds = time.perf_counter() - started
            if distributed.any_rank(bool(job.stop)):
                job.save(job)
                number = job.stop.signal or signal.SIGTERM
                raise Interrupted(f"stopped after step {cursor.step}; the state is saved", number)
            if job.is_paused:
                job.save(job)
                break
            if cursor.position < len(order) and cursor.step < total:
                limit = recipe.time_limit
                out_of_time = limit is not None and cursor.seconds - earlier >= limit
                if distributed.any_rank(out_of_time):
                    job.save(job)
                    when = f"after step {cursor.step:,}, in epoch {cursor.epoch + 1}"
                    yield Note(text=f"stopped by the time limit {when}: --resume goes on", warning=True)
                    return
                if cursor.step % recipe.checkpoint == 0:
                    job.save(job)
            label = f"epoch {cursor.epoch + 1}/{epochs}"
            yield Progress(done=cursor.position, total=len(order), label=label)
            if cursor.step == total:
                break
        if job.is_paused:
            break
        seconds = max(time.perf_counter() - epoch_started, 1e-9)
        speed = (cursor.position - first) / seconds
        yield _close_epoch(job, Timing(seconds=seconds, images_per_second=speed))
        job.save(job)
    if job.is_paused and len(job.validation):
        val_loss, val_accuracy = _validate(job)
        yield Paused(step=cursor.step, val_loss=val_loss, val_accuracy=val_accuracy)
    elif has_ended(job) and cursor.step < total:
        found = f"no epoch after epoch {cursor.best_epoch} was better on the validation images"
        yield Note(text=f"stopped early after {cursor.epoch} epochs (--patience {job.patience}): {found}")


def has_ended(job: Job) -> bool:
    """Whether a training is at its planned end: the last step, or the end of its patience."""
    cursor = job.cursor
    is_patient = not job.patience or cursor.epoch - cursor.best_epoch < job.patience
    return cursor.step >= job.recipe.total_steps(len(job.train)) or not is_patient


def kept_weights(job: Job) -> dict[str, Tensor]:
    """Return the weights that are the model: the average of all steps if there is one, else the last."""
    return distributed.unwrap(job.model).state_dict() if job.average is None else job.average.weights


def step(job: Job, sample_B: Tensor) -> None:
    """Take one optimiser step on these samples, cut into parts whose gradients add up to the batch's."""
    recipe, cursor = job.recipe, job.cursor
    rate = recipe.rate(cursor.step + 1, len(job.train))
    for group in job.optimiser.param_groups:
        group["lr"] = rate * group.get("lr_factor", 1.0)  # layers may learn more slowly than the head
    loss, correct = _backward(job, sample_B)
    norm = _clip(job.parameters, recipe.clip)
    if not math.isfinite(loss) or not math.isfinite(norm):
        what = f"loss became {loss}" if not math.isfinite(loss) else f"gradient's norm became {norm}"
        where = f"step {cursor.step + 1} (epoch {cursor.epoch + 1})"
        raise WorkFailed(
            f"the {what} in {where}: training stopped, the last good state is kept; a smaller --lr or "
            "clipped gradients often help, and `vitruvius doctor` names the causes of such failures"
        )
    job.optimiser.step()
    job.optimiser.zero_grad(set_to_none=True)
    cursor.step += 1
    if job.average is not None:
        job.average.update(distributed.unwrap(job.model), cursor.step)
    cursor.position += len(sample_B)
    cursor.loss += loss * len(sample_B)
    cursor.correct += correct
    cursor.norm += norm


def evaluate(measure: Measure, model: nn.Module, batches: Batches) -> tuple[float, float | None]:
    """Return mean loss and accuracy over a split, in evaluation mode and without gradients."""
    model.eval()
    loss, correct = 0.0, 0
    with torch.no_grad():
        for sample_B in torch.split(torch.arange(len(batches)), EVALUATION_BATCH):
            found = measure(model, batches.batch(sample_B), None)
            loss += float(found.value) * len(sample_B)
            correct += 0 if found.correct is None else int(found.correct)
    model.train()
    return loss / len(batches), None if batches.y is None else correct / len(batches)


def _validate(job: Job) -> tuple[float, float | None]:
    """Evaluate the weights that would be kept on the validation samples."""
    model = distributed.unwrap(job.model)
    with nullcontext() if job.average is None else job.average.applied(model):
        return evaluate(job.measure, job.model, job.validation)


def _backward(job: Job, sample_B: Tensor) -> tuple[float, int]:
    """Add up the gradients of the mean loss over parts and processes; return its value and correct count."""
    recipe = job.recipe
    mine = sample_B[distributed.rank() :: distributed.world_size()]
    generator = seeds.generator(recipe.seed, "step", job.cursor.step, distributed.rank())
    loss, count = 0.0, 0
    parts = [part for part in mine.tensor_split(min(recipe.accumulate, max(1, len(mine)))) if len(part)]
    for index, part in enumerate(parts):
        batch = job.train.batch(part, job.cursor.epoch)
        full = len(part) * recipe.accumulate * distributed.world_size() == recipe.batch
        measure = job.compiled if job.compiled is not None and full else job.measure
        autocast = torch.autocast(job.train.device.type, job.autocast, enabled=job.autocast is not None)
        with distributed.gradient_sync(job.model, index == len(parts) - 1), autocast:
            found = measure(job.model, batch, generator)
            share = len(part) / len(sample_B)  # parts and processes may be of unequal size
            # DistributedDataParallel averages gradients over processes; the factor makes that a sum.
            (found.value * (share * distributed.world_size())).backward()  # type: ignore[no-untyped-call]
        loss += float(found.value.detach()) * share
        count += 0 if found.correct is None else int(found.correct)
    if distributed.world_size() == 1:
        return loss, count
    total = torch.tensor([loss, count], dtype=torch.float64)
    loss, all_correct = distributed.all_reduce_sum(total).tolist()
    return loss, round(all_correct)


def _clip(parameters: Sequence[Tensor], limit: float) -> float:
    """Scale the gradients down to a norm of `limit` (0 = any norm); return the norm before.

    The bits are those of `clip_grad_norm_`, which multiplies by 1 where nothing is to be clipped.
    """
    norm = nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
    value = float(norm)
    if limit and not value < CERTAINLY_BELOW * limit:
        nn.utils.clip_grads_with_norm_(parameters, limit, norm)
    return value


def _close_epoch(job: Job, timing: Timing) -> Epoch:
    """Evaluate, keep the weights if they are the best, move the cursor on; return the record of the epoch."""
    cursor, seen = job.cursor, max(1, job.cursor.position)
    val_loss, val_accuracy = None, None
    if len(job.validation):
        val_loss, val_accuracy = _validate(job)
    steps = max(1, math.ceil(seen / job.recipe.batch))
    record = Epoch(
        epoch=cursor.epoch + 1,
        train_loss=cursor.loss / seen,
        train_accuracy=None if job.train.y is None else cursor.correct / seen,
        val_loss=val_loss,
        val_accuracy=val_accuracy,
        lr=max(group["lr"] for group in job.optimiser.param_groups),
        grad_norm=cursor.norm / steps,
        timing=timing,
    )
    score = float(cursor.epoch)  # without a validation set the last epoch counts as the best
    if val_loss is not None:
        score = -val_loss if val_accuracy is None else val_accuracy
    cursor.epoch, cursor.position, cursor.records = cursor.epoch + 1, 0, cursor.records + 1
    cursor.loss, cursor.correct, cursor.norm = 0.0, 0, 0.0
    if score > (-math.inf if cursor.best_score is None else cursor.best_score):
        cursor.best_score, cursor.best_epoch = score, cursor.epoch
        job.keep_best(job)
    return record
