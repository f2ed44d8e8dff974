"""A training in its run folder: resumed from its checkpoint, recorded, its best weights kept."""

import hashlib
import json
import math
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from safetensors.torch import save
from torch import Tensor

from vitruvius.core import files, integrity, runs
from vitruvius.core.config import Flags, RunConfig
from vitruvius.core.counted import counted
from vitruvius.core.errors import Interrupted, UserError, VitruviusError
from vitruvius.core.integrity import MODEL, Beside
from vitruvius.core.records import Note, Progress, Record
from vitruvius.core.runs import RunFolder
from vitruvius.training import checkpoint, distributed, loop, results
from vitruvius.training.loop import Job
from vitruvius.training.recipe import SMALL, ClassifierSettings
from vitruvius.training.results import Epoch

C = TypeVar("C", bound=RunConfig)
Environment = dict[str, Any]


@contextmanager
def open_run(
    verb: str, config: C, flags: Flags, processes: Callable[[C], int] = lambda config: 1
) -> Iterator[tuple[RunFolder, C]]:
    """Open the run folder on every rank: rank 0 creates and locks it and broadcasts its path and config.

    `processes`: how many a config asks for; unless torchrun has started them, rank 0 starts the others.
    """
    if distributed.rank() > 0:
        received = distributed.broadcast_string("")
        if not received:
            raise UserError("the first process could not open the run folder")
        about = json.loads(received)
        yield RunFolder(Path(about["folder"]), about["is_new"]), type(config)(**about["config"])
        return
    with ExitStack() as stack:
        try:
            folder, config = stack.enter_context(runs.opened(verb, config, flags))
        except VitruviusError:
            distributed.broadcast_string("")
            raise
        # As every rank but 0, a process that is started here takes folder and config from the broadcast.
        again = [sys.executable, "-m", "vitruvius", verb, "--resume", str(folder.folder), "--quiet"]
        stack.enter_context(distributed.start(processes(config), again))
        settings = config.model_dump(mode="json")
        about = {"folder": str(folder.folder), "is_new": folder.is_new, "config": settings}
        distributed.broadcast_string(json.dumps(about))
        yield folder, config


def run_job(
    folder: RunFolder, job: Job, environment: Environment, allow_inexact: bool, keeps_model: bool = True
) -> Iterator[Record]:
    """Train a job from its newest checkpoint, if any, to its end; keep state, records and best weights.

    Without `keeps_model` the best weights are in the checkpoints only, and model.safetensors is the caller's.
    """
    inexact = _check_environment(folder, environment, allow_inexact)
    if inexact:
        yield Note(text=f"not the same to the bit as before: {inexact}", warning=True)
    restored = checkpoint.read(folder.path("state"), job)
    warnings = [*folder.repairs, *(f"{fault}; the checkpoint before it is used" for fault in restored.faults)]
    if distributed.rank() == 0 and restored.beside and restored.beside.records != folder.kept():
        folder.cut(restored.beside.records.bytes)
    if not (folder.is_new or restored.beside or job.cursor.step) and folder.path("result.json").exists():
        warnings.append(f"{folder.path('state')}: holds no checkpoint; the training begins anew")
    epochs = _drop_later_records(folder, job.cursor.records)
    best = restored.best
    if keeps_model and best and distributed.rank() == 0:
        warnings += _repair_model(folder, best)
    _save_into(folder, job, best, environment, keeps_model)
    for warning in warnings:
        yield Note(text=warning, warning=True)
    yield from _rising_rate(job, epochs)
    for record in loop.run(job):
        if isinstance(record, Epoch | Progress) and distributed.rank() > 0:
            continue  # the first process tells
        if isinstance(record, Epoch):
            folder.keep(record)
            epochs.append(record)
            folder.write("log.csv", files.csv_text([epoch.row() for epoch in epochs]))
        yield record
    if not best:  # the time limit stopped the run within the first epoch
        job.keep_best(job)
        if keeps_model and distributed.rank() == 0:
            folder.write(MODEL, save(best))
    job.model.load_state_dict(best)


def resumable(work: Iterator[Record], folder: RunFolder, flags: Flags) -> Iterator[Record]:
    """Pass the records of a training on; if it is interrupted, name the command that goes on."""
    try:
        yield from work
    except Interrupted as error:
        where = "" if flags.runs == Flags().runs else f" --runs {shlex.quote(flags.runs)}"
        command = f"vitruvius train --resume {shlex.quote(folder.folder.name)}{where}"
        raise Interrupted(f"{error}; `{command}` goes on", error.exit_code - 128) from None


def refuse_fewer_epochs(recipe: ClassifierSettings, folder: RunFolder) -> None:
    """Refuse to end a run before the epochs that are done: they cannot be taken back."""
    try:
        done = len(results.epochs(folder.records()))
    except UserError:  # damaged records are repaired or refused by `run_job`
        return
    if recipe.steps is None and recipe.epochs < done:
        cure = f"ask for {done} or more, or start anew with another --name"
        raise UserError(f"--resume {folder.folder.name} --epochs {recipe.epochs}: {done} are done; {cure}")


def _rising_rate(job: Job, epochs: list[Epoch]) -> Iterator[Note]:
    """Say so if more epochs make the learning rate rise again, as a longer cosine does."""
    if not epochs or job.is_finished or job.recipe.schedule != "cosine":
        return
    recipe, samples, last = job.recipe, len(job.train), epochs[-1].lr
    ended = min(job.cursor.step, epochs[-1].epoch * math.ceil(samples / recipe.batch))
    rate = recipe.rate(job.cursor.step + 1, samples)
    if rate > last and recipe.rate(ended, samples) != last:  # another schedule than that of the epochs before
        cure = f"--cosine-epochs {epochs[-1].epoch} would go on with {SMALL * recipe.lr:.2g}"
        spread = f"as its cosine is spread over {counted(recipe.cosine_epochs or recipe.epochs, 'epoch')} now"
        text = f"the learning rate rises again, from {last:.2g} to {rate:.2g}, {spread}"
        yield Note(text=text if recipe.cosine_epochs else f"{text}; {cure}", warning=True)


def _save_into(
    folder: RunFolder, job: Job, best: dict[str, Tensor], environment: Environment, keeps_model: bool
) -> None:
    """Make the job write its checkpoints and its best weights into the folder.

    A checkpoint names the hash of model.safetensors and is written before it: killed in between, the file is
    still the one that the checkpoint before names.
    """
    written = kept = _digest(best) if best and keeps_model else None
    folder.kept()  # from here on counted, so that damage to the file is not recorded as its content

    def keep_best(job: Job) -> None:
        nonlocal kept
        state = loop.kept_weights(job)
        best.update({name: value.detach().to("cpu", copy=True) for name, value in state.items()})
        kept = _digest(best) if keeps_model and distributed.rank() == 0 else None

    def write(job: Job) -> None:
        nonlocal written
        files_now: dict[str, Any] = {"config": folder.settings, "environment": environment}
        beside = Beside(**files_now, records=folder.kept(), model=kept)
        checkpoint.write(folder.path("state"), job, best, beside)
        if kept != written:
            folder.write(MODEL, save(best))
            written = kept

    job.keep_best = keep_best
    job.save = write


def _repair_model(folder: RunFolder, best: dict[str, Tensor]) -> list[str]:
    """Write model.safetensors again from the checkpoint if it differs; return what was wrong with it.

    Nothing was, if the checkpoint before names it: the run was killed between checkpoint and weights.
    """
    path, content = folder.path(MODEL), save(best)
    found = files.sha256(path, follow=False) if files.is_regular(path) else None
    if found == hashlib.sha256(content).hexdigest():
        return []
    is_older = found in {known.model for known in integrity.beside(folder.folder)} and found is not None
    folder.write(MODEL, content)
    fault = "was damaged, changed or missing" if found else "was missing or not a regular file"
    return [] if is_older else [f"{path}: {fault}; it was written again from the checkpoint"]


def _digest(tensors: dict[str, Tensor]) -> str:
    return hashlib.sha256(save(tensors)).hexdigest()


def _check_environment(folder: RunFolder, environment: Environment, allow_inexact: bool) -> str:
    """Record the environment of a new run; on resume return the differences, or refuse them."""
    manifest = None if folder.is_new else integrity.read_manifest(folder.folder)
    if manifest is None:
        if distributed.rank() == 0:
            folder.seal(environment)
        return ""
    before = manifest.environment
    known = [key for key in environment if key in before and key != "inexact"]  # older versions know fewer
    keys = [key for key in known if before[key] != environment[key]]
    differing = "; ".join(f"{key} was {before[key]}, is {environment[key]}" for key in keys)
    if differing and not allow_inexact:
        cure = "(--allow-inexact goes on all the same and marks the run)"
        raise UserError(f"{folder.folder.name} cannot be continued to the bit: {differing} {cure}")
    environment["inexact"] = before.get("inexact", False) or bool(differing)
    return differing


def _drop_later_records(folder: RunFolder, last: int) -> list[Epoch]:
    """Return the epochs up to the checkpoint; remove later records, as these epochs are trained again."""
    lines = folder.records()
    try:
        known = [line for line in lines if line["epoch"] <= last]
        if distributed.rank() == 0 and len(known) < len(lines):
            folder.rewrite(known)
        return results.epochs(known)
    except (KeyError, TypeError, UserError) as error:
        raise UserError(
            f"{folder.path(integrity.RECORDS)}: not the records of a training: {error}"
        ) from error
