"""A training in its run folder: resumed from its checkpoint, recorded, its best weights kept."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from safetensors.torch import save
from torch import Tensor

from vitruvius.core import files, runs
from vitruvius.core.config import Flags, RunConfig
from vitruvius.core.errors import UserError, VitruviusError
from vitruvius.core.records import Note, Record
from vitruvius.core.runs import RunFolder
from vitruvius.training import checkpoint, distributed, loop, results
from vitruvius.training.loop import Job
from vitruvius.training.results import Epoch

C = TypeVar("C", bound=RunConfig)
Environment = dict[str, Any]


@contextmanager
def open_run(verb: str, config: C, flags: Flags) -> Iterator[tuple[RunFolder, C]]:
    """Open the run folder on every rank: rank 0 creates and locks it and broadcasts its path and config."""
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
        settings = config.model_dump(mode="json")
        about = {"folder": str(folder.folder), "is_new": folder.is_new, "config": settings}
        distributed.broadcast_string(json.dumps(about))
        yield folder, config


def run_job(folder: RunFolder, job: Job, environment: Environment, allow_inexact: bool) -> Iterator[Record]:
    """Train a job from its newest checkpoint, if any, to its end; keep state, records and best weights."""
    inexact = _check_environment(folder, environment, allow_inexact)
    if inexact:
        yield Note(text=f"not the same to the bit as before: {inexact}", warning=True)
    best, faults = checkpoint.read(folder.path("state"), job)
    _save_into(folder, job, best)
    for fault in faults:
        yield Note(text=f"{fault}; the checkpoint before it is used", warning=True)
    epochs = _drop_later_records(folder, job.cursor.records)
    for record in loop.run(job):
        if isinstance(record, Epoch) and distributed.rank() == 0:
            folder.keep(record)
            epochs.append(record)
            files.write(folder.path("log.csv"), files.csv_text([epoch.row() for epoch in epochs]))
        yield record
    if not best:  # the time limit stopped the run within the first epoch
        job.keep_best(job)
    distributed.unwrap(job.model).load_state_dict(best)


def _save_into(folder: RunFolder, job: Job, best: dict[str, Tensor]) -> None:
    """Make the job write its checkpoints and its best weights into the folder."""

    def keep_best(job: Job) -> None:
        state = distributed.unwrap(job.model).state_dict()
        best.update({name: value.detach().clone() for name, value in state.items()})
        if distributed.rank() == 0:
            files.write(folder.path("model.safetensors"), save(best))

    job.keep_best = keep_best
    job.save = lambda job: checkpoint.write(folder.path("state"), job, best)


def _check_environment(folder: RunFolder, environment: Environment, allow_inexact: bool) -> str:
    """Record the environment of a new run; on resume return the differences, or refuse them."""
    manifest = folder.path("manifest.json")
    if folder.is_new or not manifest.exists():
        if distributed.rank() == 0:
            folder.seal(environment)
        return ""
    before = files.read_json(manifest)["environment"]
    keys = [key for key in environment if before.get(key) != environment[key] and key != "inexact"]
    differing = "; ".join(f"{key} was {before.get(key)}, is {environment[key]}" for key in keys)
    if differing and not allow_inexact:
        cure = "(--allow-inexact goes on all the same and marks the run)"
        raise UserError(f"{folder.folder.name} cannot be continued to the bit: {differing} {cure}")
    environment["inexact"] = before.get("inexact", False) or bool(differing)
    return differing


def _drop_later_records(folder: RunFolder, last: int) -> list[Epoch]:
    """Return the epochs up to the checkpoint; remove later records, as these epochs are trained again."""
    lines = folder.records()
    known = [line for line in lines if line["epoch"] <= last]
    if distributed.rank() == 0 and len(known) < len(lines):
        folder.rewrite(known)
    return results.epochs(known)
