"""The training loop, the only one: trains a model by an objective, data and a recipe; yields epoch records.

Every random number depends on (seed, epoch, step or sample) or on torch's global generator, whose state is
part of the checkpoint. A run that is stopped anywhere and resumed from its checkpoint therefore takes the
same steps to the bit.

A step never waits for a GPU: loss, correct count and norm stay on the device and are read every `READ_EVERY`
steps, at checkpoints and at the end of an epoch, before anything is saved. On a CPU they are read at once.
"""

import math
import signal
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor, nn

from vitruvius.core import allocator
from vitruvius.core.counted import counted
from vitruvius.core.errors import Interrupted, WorkFailed
from vitruvius.core.records import Note, Progress, Record
from vitruvius.core.signals import StopRequest
from vitruvius.objectives import Batch, Loss
from vitruvius.optimisers import Divides
from vitruvius.training import distributed, seeds, side_by_side
from vitruvius.training.average import Average
from vitruvius.training.batches import Batches
from vitruvius.training.recipe import Recipe
from vitruvius.training.results import Epoch, Paused, Timing

Measure = Callable[[nn.Module, Batch, torch.Generator | None], Loss]
Numbers: TypeAlias = Tensor | list[float]
"""A vector on a GPU; on a CPU floats, since every operation of torch tells in a short step."""
EVALUATION_BATCH = 500
PREPARED = 2**19
"""Values of the next steps' images that are prepared at once on a CPU: 668 images of 28 pixels, or 2 MiB."""
SEEDS = 64
"""Steps whose seeds are made at once."""
READ_EVERY = 50
"""Steps after which the numbers of a GPU are read."""
CERTAINLY_BELOW = 0.999
"""Share of a limit below which rounding cannot make a norm reach it."""


class Taken(NamedTuple):
    """The numbers of a step that has been taken, not yet read from the device."""

    step: int
    samples: int
    numbers: Numbers  # loss, correct count; of several processes, also how many were asked to stop, are late
    norm: Tensor


class Requests(NamedTuple):
    """Whether a training is to stop, because a signal asked for it or because its time is over."""

    stop: bool = False
    late: bool = False


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
    best_loss: float | None = None  # on the validation samples, of the best epoch
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
    started: float = field(default_factory=lambda: time.perf_counter())  # when the time limit began
    evaluation_batch: int = EVALUATION_BATCH
    scaler: torch.amp.GradScaler | None = None  # scales the loss of float16, whose gradients would vanish
    taken: list[Taken] = field(default_factory=list)  # steps whose numbers are not yet in the cursor
    requests: Requests = Requests()  # of all processes, when the numbers were read last
    generator: torch.Generator = field(default_factory=torch.Generator)  # seeded anew in every step

    @cached_property
    def parameters(self) -> list[Tensor]:
        """Return the parameters of the model; walking through its modules in every step takes long."""
        return list(self.model.parameters())

    @property
    def is_finished(self) -> bool:
        """Whether the last step is taken and its epoch evaluated, or the patience is at its end."""
        is_last = self.cursor.step >= self.recipe.total_steps(len(self.train))
        return (is_last or self.is_out_of_patience) and not self.cursor.position

    @property
    def is_out_of_patience(self) -> bool:
        """Whether no epoch was better than the best for as long as one waits for it."""
        return self.patience > 0 and self.cursor.epoch - self.cursor.best_epoch >= self.patience

    @property
    def is_paused(self) -> bool:
        """Whether the step is reached at which the training is to pause; its end is no pause."""
        is_reached = self.pause_at is not None and self.cursor.step >= self.pause_at
        return is_reached and self.cursor.step < self.recipe.total_steps(len(self.train))


def run(job: Job) -> Iterator[Record]:
    """Train from the cursor to the last step, or to a pause; yield progress and epoch records."""
    with allocator.keeping_freed_memory():
        yield from _run(job)


def _run(job: Job) -> Iterator[Record]:
    cursor, first_step = job.cursor, job.cursor.step
    started = time.perf_counter() - cursor.seconds
    while not job.is_finished and not job.is_paused:
        epoch_started, first = time.perf_counter(), cursor.position
        if (yield from _rest_of_epoch(job, started)):
            yield _out_of_time(cursor)
            return
        if job.is_paused:
            break
        read_numbers(job)
        seconds = max(time.perf_counter() - epoch_started, 1e-9)
        speed = (cursor.position - first) / seconds
        yield _close_epoch(job, Timing(seconds=seconds, images_per_second=speed))
        job.save(job)
        if not job.is_finished and cursor.step > first_step and _requests(job).late:
            yield _out_of_time(cursor)
            return
    if job.is_paused and len(job.validation):
        val_loss, val_accuracy = _validate(job)
        yield Paused(step=cursor.step, val_loss=val_loss, val_accuracy=val_accuracy)
    elif job.is_out_of_patience:
        found = f"no epoch after epoch {cursor.best_epoch} was better on the validation images"
        ended = f"stopped early after {counted(cursor.epoch, 'epoch')} (--patience {job.patience})"
        yield Note(text=f"{ended}: {found}")


def kept_weights(job: Job) -> dict[str, Tensor]:
    """Return the weights that are the model: the average of all steps if there is one, else the last."""
    return job.model.state_dict() if job.average is None else job.average.weights


def _rest_of_epoch(job: Job, started: float) -> Generator[Record, None, bool]:
    """Take steps to the end of the epoch, to a pause or to the time limit; return whether time is over."""
    recipe, cursor, order = job.recipe, job.cursor, job.train.order(job.cursor.epoch)
    total = recipe.total_steps(len(job.train))
    label = f"epoch {cursor.epoch + 1}/{math.ceil(total / math.ceil(len(order) / recipe.batch))}"
    for begin in range(cursor.position, len(order), recipe.batch):
        if cursor.step == total:
            break
        prepare(job, order, begin)
        step(job, order[begin : begin + recipe.batch])
        if job.train.is_copied:
            job.train.prefetch(_parts(recipe, order[begin + recipe.batch : begin + 2 * recipe.batch])[0])
        cursor.seconds = time.perf_counter() - started
        requests = _requests(job)
        if requests.stop or requests.late or job.is_paused:
            _save(job)
        if requests.stop:
            number = job.stop.signal or signal.SIGTERM
            raise Interrupted(f"stopped after step {cursor.step}; the state is saved", number)
        if requests.late or job.is_paused:
            return requests.late
        if cursor.step % recipe.checkpoint == 0 and cursor.position < len(order) and cursor.step < total:
            _save(job)
        yield Progress(done=cursor.position, total=len(order), label=label)
    return False


def prepare(job: Job, order: Tensor, begin: int) -> None:
    """Prepare the batches of this step and the next ones of the epoch at once, if that changes no bit."""
    size, epoch = job.recipe.batch, job.cursor.epoch
    steps = PREPARED // (size * job.train.x.shape[1:].numel())
    if job.train.has_prepared(epoch) or steps < 2 or not job.train.may_prepare:
        return
    ahead = torch.split(order[begin : begin + steps * size], size)
    parts = [part_B for sample_B in ahead for part_B in _parts(job.recipe, sample_B)[0]]
    job.train.prepare(parts, epoch)


def step(job: Job, sample_B: Tensor) -> None:
    """Take one optimiser step on these samples, cut into parts whose gradients add up to the batch's."""
    recipe, cursor = job.recipe, job.cursor
    rate = recipe.rate(cursor.step + 1, len(job.train))
    for group in job.optimiser.param_groups:
        group["lr"] = rate * group.get("lr_factor", 1.0)  # layers may learn more slowly than the head
    numbers, flat = _backward(job, sample_B)
    if job.scaler is not None:
        job.scaler.unscale_(job.optimiser)
    gradients = [p.grad for p in job.parameters if p.grad is not None] if flat is None else [flat]
    norm = _clip(gradients, recipe.clip, None if job.scaler else job.optimiser)
    job.taken.append(Taken(cursor.step + 1, len(sample_B), numbers, norm))
    if job.train.device.type == "cpu" or (cursor.step + 1) % READ_EVERY == 0:
        read_numbers(job)
    if job.scaler is None:
        job.optimiser.step()
    else:  # leaves a step out whose gradients overflowed, and scales the next loss less
        job.scaler.step(job.optimiser)
        job.scaler.update()
    job.optimiser.zero_grad(set_to_none=True)
    cursor.step += 1
    if job.average is not None:
        job.average.update(job.model, cursor.step)
    cursor.position += len(sample_B)


def evaluate(job: Job, batches: Batches) -> tuple[float, float | None]:
    """Return mean loss and accuracy over a split, in evaluation mode and without gradients.

    Every process evaluates its share.
    """
    mine_n = torch.arange(len(batches))[distributed.rank() :: distributed.world_size()]

    def numbers(sample_B: Tensor) -> tuple[int, Numbers]:
        return len(sample_B), _numbers(job.measure(job.model, batches.batch(sample_B), None))

    job.model.eval()
    with autocast(job):
        found = list(side_by_side.evaluated(numbers, mine_n, job.evaluation_batch, batches.device))
    job.model.train()
    loss, correct = 0.0, 0
    for (size, _), (value, count) in zip(found, _read([one for _, one in found]), strict=True):
        loss += value * size
        correct += round(count)
    if distributed.world_size() > 1:
        total = torch.tensor([loss, correct], dtype=torch.float64)
        loss, correct = distributed.all_reduce_sum(total).tolist()
    return loss / len(batches), None if batches.y is None else correct / len(batches)


def _validate(job: Job) -> tuple[float, float | None]:
    """Evaluate the weights that would be kept on the validation samples."""
    with nullcontext() if job.average is None else job.average.applied(job.model):
        return evaluate(job, job.validation)


def _backward(job: Job, sample_B: Tensor) -> tuple[Numbers, Tensor | None]:
    """Add up the gradients of the mean loss over parts and processes.

    Return the numbers of `Taken` and, if there are several processes, all gradients in one tensor.
    """
    recipe = job.recipe
    parts, counts = _parts(recipe, sample_B)
    block, index = divmod(job.cursor.step, SEEDS)
    generator = job.generator.manual_seed(_seeds(recipe.seed, block, distributed.rank())[index])
    total: Numbers | None = None
    for part_B in parts:
        batch = job.train.batch(part_B, job.cursor.epoch)
        full = len(part_B) * recipe.accumulate * distributed.world_size() == recipe.batch
        measure = job.compiled if job.compiled is not None and full else job.measure
        share = len(part_B) / len(sample_B) if counts else 0.0  # parts and processes may be of unequal size
        with autocast(job):
            found = measure(job.model, batch, generator)
            value = found.value if job.scaler is None else job.scaler.scale(found.value)
            (value if share == 1 else value * share).backward()  # type: ignore[no-untyped-call]
        numbers = _numbers(found, share)
        total = numbers if total is None else _sum(total, numbers)
    assert total is not None
    if distributed.world_size() == 1:
        return total, None
    total = _appended(total, torch.tensor(_own_requests(job), dtype=torch.float32))
    vector = total if isinstance(total, Tensor) else torch.tensor(total, dtype=torch.float64)
    return distributed.reduce_gradients(job.parameters, vector)


@lru_cache(maxsize=1)
def _seeds(seed: int, block: int, rank: int) -> list[int]:
    """Return the seeds of `SEEDS` steps: one alone takes 0.02 ms, as a network has emptied the caches."""
    steps = range(block * SEEDS, (block + 1) * SEEDS)
    return [seeds.derive(seed, "step", step, rank) for step in steps]


def _parts(recipe: Recipe, sample_B: Tensor) -> tuple[Sequence[Tensor], bool]:
    """Return the parts of a batch that this process computes one after the other, and whether they count."""
    if not len(sample_B):
        return (), False
    mine_B, counts = distributed.share(sample_B)
    if recipe.accumulate == 1:
        return (mine_B,), counts
    return mine_B.tensor_split(min(recipe.accumulate, len(mine_B))), counts


def _numbers(found: Loss, share: float = 1.0) -> Numbers:
    """Return a part's share of the loss, and its correct count."""
    if found.value.device.type == "cpu":  # nobody waits for these numbers
        correct = 0 if found.correct is None or not share else found.correct.item()
        return [found.value.item() * share, float(correct)]
    wide = torch.float32 if found.value.device.type == "mps" else torch.float64
    loss = found.value.detach().to(wide) * share
    count = torch.zeros_like(loss) if found.correct is None or not share else found.correct.to(wide)
    return torch.stack([loss, count])


def _sum(left: Numbers, right: Numbers) -> Numbers:
    if isinstance(left, Tensor):
        return left + torch.as_tensor(right)
    return [a + b for a, b in zip(left, right, strict=True)]


def _appended(numbers: Numbers, more: Tensor) -> Numbers:
    if isinstance(numbers, Tensor):
        return torch.cat([numbers, more.to(numbers).view(-1)])
    return [*numbers, *more.view(-1).tolist()]


def _read(numbers: Sequence[Numbers]) -> list[list[float]]:
    """Return the numbers of several vectors, for which a device is waited for once."""
    vectors = [one for one in numbers if isinstance(one, Tensor)]
    return torch.stack(vectors).tolist() if vectors else [one for one in numbers if isinstance(one, list)]


def read_numbers(job: Job) -> None:
    """Add the numbers of the steps taken to the cursor, with one wait for the device; stop if one is NaN."""
    taken, cursor = job.taken, job.cursor
    if not taken:
        return
    rows = _read([_appended(one.numbers, one.norm) for one in taken])
    for one, (loss, correct, *asked, norm) in zip(taken, rows, strict=True):
        # A float16 gradient may overflow: the scaler leaves that step out.
        if not math.isfinite(loss) or (job.scaler is None and not math.isfinite(norm)):
            what = f"loss became {loss}" if not math.isfinite(loss) else f"gradient's norm became {norm}"
            raise WorkFailed(
                f"the {what} in step {one.step} (epoch {cursor.epoch + 1}): training stopped, the last good "
                "state is kept; a smaller --lr or clipped gradients often help, and `vitruvius doctor` names "
                "the causes of such failures"
            )
        cursor.loss += loss * one.samples
        cursor.correct += round(correct)
        cursor.norm += norm if math.isfinite(norm) else 0.0
        if asked:
            job.requests = Requests(stop=asked[0] > 0, late=asked[1] > 0)
    taken.clear()


def _own_requests(job: Job) -> Requests:
    """Return whether this process was asked to stop, and whether its time is over."""
    limit = job.recipe.time_limit
    return Requests(bool(job.stop), limit is not None and time.perf_counter() - job.started >= limit)


def _requests(job: Job) -> Requests:
    """Return what to act on; several processes act together, on what all have read in the same step."""
    return _own_requests(job) if distributed.world_size() == 1 else job.requests


def _out_of_time(cursor: Cursor) -> Note:
    when = f"after step {cursor.step:,}, in epoch {cursor.epoch + 1}"
    return Note(text=f"stopped by the time limit {when}: --resume goes on", warning=True)


def _save(job: Job) -> None:
    """Save the state, unless a number that is read now shows that it is no good."""
    read_numbers(job)
    job.save(job)


def autocast(job: Job) -> AbstractContextManager[Any]:
    """Return the context in which the model computes with 16 bits, if it is to."""
    return nullcontext() if job.autocast is None else torch.autocast(job.train.device.type, job.autocast)


def _clip(gradients: list[Tensor], limit: float, optimiser: torch.optim.Optimizer | None = None) -> Tensor:
    """Scale the gradients down to a norm of `limit` (0 = any norm); return the norm before.

    An optimiser that divides them itself is told to. Else the bits are those of `clip_grad_norm_`, which
    multiplies by 1 where nothing is to be clipped and sorts tensors by device and type first: it takes 0.31
    ms for those of `mnist-slim`, without that 0.20.
    """
    norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
    # Only a CPU knows the norm without waiting.
    if not limit or (norm.device.type == "cpu" and float(norm) < CERTAINLY_BELOW * limit):
        return norm
    if isinstance(optimiser, Divides) and norm.dtype == torch.float32:
        optimiser.divisor = ((norm + 1e-6) / limit).clamp(min=1.0)
    else:
        torch._foreach_mul_(gradients, (limit / (norm + 1e-6)).clamp(max=1.0))
    return norm


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
        lr=job.recipe.rate(cursor.step, len(job.train)),
        grad_norm=cursor.norm / steps,
        timing=timing,
    )
    score = float(cursor.epoch)  # without a validation set the last epoch counts as the best
    if val_loss is not None:
        score = -val_loss if val_accuracy is None else val_accuracy
    cursor.epoch, cursor.position, cursor.records = cursor.epoch + 1, 0, cursor.records + 1
    cursor.loss, cursor.correct, cursor.norm = 0.0, 0, 0.0
    if _is_better(score, val_loss, cursor):
        cursor.best_score, cursor.best_loss, cursor.best_epoch = score, val_loss, cursor.epoch
        job.keep_best(job)
    return record


def _is_better(score: float, val_loss: float | None, cursor: Cursor) -> bool:
    """Whether an epoch is the best so far; between equal accuracies the loss decides."""
    if cursor.best_score is None or score != cursor.best_score:
        return cursor.best_score is None or score > cursor.best_score
    return val_loss is not None and cursor.best_loss is not None and val_loss < cursor.best_loss
