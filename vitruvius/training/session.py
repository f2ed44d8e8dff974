"""A training inside its run folder: resumed where it stopped, recorded as it goes, its best weights kept."""

import csv
import io
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from safetensors.torch import save
from torch import Tensor

from vitruvius.core import files, runs
from vitruvius.core.config import Config, Flags
from vitruvius.core.errors import UserError, VitruviusError
from vitruvius.core.records import Note, Record
from vitruvius.core.runs import RunFolder
from vitruvius.training import checkpoint, loop
from vitruvius.training import distributed as world
from vitruvius.training.loop import Epoch, Job

C = TypeVar("C", bound=Config)


@contextmanager
def opened(verb: str, config: C, flags: Flags) -> Iterator[tuple[RunFolder, C]]:
    """The run folder for all processes of a training: the first holds it, the others only read it."""
    if world.size() == 1:
        with runs.opened(verb, config, flags) as found:
            yield found
        return
    if world.rank() > 0:
        heard = world.told("")
        if not heard:
            raise UserError("the first process could not open the run folder")
        about = json.loads(heard)
        yield RunFolder(Path(about["folder"]), about["is_new"]), type(config)(**about["config"])
        return
    with ExitStack() as stack:
        try:
            run, config = stack.enter_context(runs.opened(verb, config, flags))
        except VitruviusError:
            world.told("")
            raise
        about = {"folder": str(run.folder), "is_new": run.is_new, "config": config.model_dump(mode="json")}
        world.told(json.dumps(about))
        yield run, config


def carried(run: RunFolder, job: Job, environment: dict[str, Any], allow_inexact: bool) -> Iterator[Record]:
    """Train a job to its end, from its newest checkpoint if the run has one; keeps state, records and best weights."""
    inexact = _same_environment(run, environment, allow_inexact)
    if inexact:
        yield Note(text=f"not the same to the bit as before: {inexact}", warning=True)
    best: dict[str, Tensor] = {}
    _connect(run, job, best)
    if checkpoint.exists(run.path("state")):
        found, faults = checkpoint.read(run.path("state"), job)
        best.update(found)
        for fault in faults:
            yield Note(text=f"{fault}; the checkpoint before it is used", warning=True)
    lines = _cut_records(run, job.cursor.records)
    for record in loop.run(job):
        if isinstance(record, Epoch) and world.rank() == 0:
            run.keep(record)
            lines.append(record.line())
            files.write(run.path("log.csv"), _csv(lines))
        yield record
    if not best:  # stopped by the time limit within the first epoch
        job.keep_best(job)
    checkpoint.restore_best(job, best)


def _connect(run: RunFolder, job: Job, best: dict[str, Tensor]) -> None:
    def keep_best(job: Job) -> None:
        best.update(checkpoint.weights(job.model))
        if world.rank() == 0:
            files.write(run.path("model.safetensors"), save(best))

    job.keep_best = keep_best
    job.save = lambda job: checkpoint.write(run.path("state"), job, best)


def _same_environment(run: RunFolder, environment: dict[str, Any], allow_inexact: bool) -> str:
    """Record the environment of a new run; compare it on resume. Returns what differs, if that is allowed."""
    manifest = run.path("manifest.json")
    if run.is_new or not manifest.exists():
        if world.rank() == 0:
            run.seal(environment)
        return ""
    before = files.read_json(manifest)["environment"]
    differing = [
        f"{key} was {before.get(key)}, is {environment.get(key)}"
        for key in environment
        if before.get(key) != environment[key] and key != "inexact"
    ]
    if differing and not allow_inexact:
        raise UserError(
            f"{run.folder.name} cannot be continued to the bit: {'; '.join(differing)} "
            "(--allow-inexact goes on all the same and marks the run)"
        )
    environment["inexact"] = before.get("inexact", False) or bool(differing)
    return "; ".join(differing)


def _cut_records(run: RunFolder, count: int) -> list[dict[str, Any]]:
    """The epoch records the checkpoint knows of; later records are made again and must not stand twice."""
    lines = run.records()
    known = [line for line in lines if line["epoch"] <= count]
    if world.rank() == 0 and len(known) < len(lines):
        run.rewrite(known)
    return [line for line in known if line["kind"] == "epoch"]


def _csv(lines: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    rows = [{**line, **line["timing"]} for line in lines]
    fields = [field for field in rows[0] if field not in ("kind", "timing")]
    writer = csv.DictWriter(text, fields, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
