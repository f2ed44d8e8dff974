"""Checkpoints: the whole state of a training in two files, verified by SHA-256; the last two are kept.

`state/<step>.safetensors` holds weights, best weights, optimiser and RNG state; `state/<step>.json`, written
last, holds the cursor, the checksum, and what the files beside it must be. A pair that does not verify is
skipped. There is no pickle anywhere.
"""

import hashlib
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from vitruvius.core import files, integrity
from vitruvius.core.errors import UserError, WorkFailed, reason
from vitruvius.core.integrity import Beside, Checkpoint
from vitruvius.training import device, distributed
from vitruvius.training.loop import Cursor, Job

KEPT = 2  # checkpoints that stay on disk
LARGEST = 2**40  # bytes of tensors that are read


class Restored(NamedTuple):
    """What a checkpoint gave back beside the job's own state."""

    best: dict[str, Tensor]  # weights of the best epoch; empty before the first
    beside: Beside | None  # None without a checkpoint, or with one of an older version
    faults: list[str]  # why newer checkpoints were skipped


def write(folder: Path, job: Job, best: dict[str, Tensor], beside: Beside | None = None) -> None:
    """Save the state of a job; called on every rank, written by rank 0, which says what is beside it."""
    rng = {"rng": torch.get_rng_state(), **device.rng_state(job.train.device)}
    states = {name: distributed.all_gather(state) for name, state in rng.items()}
    if distributed.rank() != 0:
        return
    tensors = {
        **{f"model.{name}": value for name, value in job.model.state_dict().items()},
        **{f"best.{name}": value for name, value in best.items()},
        **{f"average.{name}": value for name, value in (job.average.weights if job.average else {}).items()},
        **{f"optimiser.{name}": value for name, value in _optimiser_tensors(job.optimiser).items()},
        **{f"{name}.{index}": value for name, all_of in states.items() for index, value in enumerate(all_of)},
        **_scaler_tensors(job.scaler),
    }
    _make(folder)
    content = save({name: value.detach().cpu().contiguous() for name, value in tensors.items()})
    stem = f"{job.cursor.step:09d}-{job.cursor.epoch:05d}"
    files.write(folder / f"{stem}.safetensors", content)
    digest = hashlib.sha256(content).hexdigest()
    described = Checkpoint(cursor=asdict(job.cursor), sha256=digest, beside=beside)
    integrity.write_hashed(folder / f"{stem}.json", described.model_dump(mode="json"))
    for old in integrity.checkpoints(folder)[:-KEPT]:
        old.unlink(missing_ok=True)
        old.with_suffix(".safetensors").unlink(missing_ok=True)


def read(folder: Path, job: Job) -> Restored:
    """Restore the newest checkpoint that verifies, as do the records beside it that it refers to."""
    faults: list[str] = []
    records = folder.parent / integrity.RECORDS
    for path in reversed(integrity.checkpoints(folder)):
        try:
            described, tensors = _verified(path)
            beside = described.beside
            if beside and (fault := integrity.records_fault(records, beside.records)):
                raise UserError(fault)
            cursor = Cursor(**described.cursor)  # type: ignore[arg-type]
            return Restored(_restore(job, cursor, tensors), beside, faults)
        except UserError as error:
            faults.append(str(error))
        except (TypeError, KeyError, ValueError, RuntimeError) as error:
            faults.append(f"{path}: not a checkpoint of this run: {error}")
    if faults:
        raise UserError(f"no usable checkpoint: {'; '.join(dict.fromkeys(faults))}")
    return Restored({}, None, [])


def _make(folder: Path) -> None:
    """Make the folder of the checkpoints; a link or a file in its place is refused."""
    if folder.is_symlink():
        raise WorkFailed(f"{folder}: it is a link, and links are not followed here")
    try:
        folder.mkdir(exist_ok=True)
        files.sync_folder(folder.parent)
    except OSError as error:
        raise WorkFailed(f"could not make {folder}: {reason(error)}") from error


def _verified(description: Path) -> tuple[Checkpoint, dict[str, Tensor]]:
    described, path = integrity.read_checkpoint(description), description.with_suffix(".safetensors")
    if not path.exists():
        raise UserError(f"{path}: is missing")
    content = files.read(path, LARGEST)
    if hashlib.sha256(content).hexdigest() != described.sha256:
        raise UserError(f"{path}: its SHA-256 does not match: the file is damaged")
    try:
        return described, load(content)
    except SafetensorError as error:
        raise UserError(f"{path}: not a checkpoint of this version: {error}") from error


def _restore(job: Job, cursor: Cursor, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    groups: dict[str, dict[str, Tensor]] = {"model": {}, "best": {}, "optimiser": {}, "rng": {}}
    groups |= {"device_rng": {}, "scaler": {}, "average": {}}
    for name, value in tensors.items():
        group, _, rest = name.partition(".")
        groups[group][rest] = value
    job.model.load_state_dict(groups["model"])
    if job.average is not None:
        job.average.load(groups["average"])
    _fill_optimiser(job.optimiser, groups["optimiser"])
    torch.set_rng_state(groups["rng"][str(distributed.rank())])
    device.set_rng_state(job.train.device, groups["device_rng"].get(str(distributed.rank())))
    _fill_scaler(job.scaler, groups["scaler"])
    job.cursor = cursor
    return groups["best"]


def _optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return the optimiser's tensors by parameter index and name; its settings are in the recipe."""
    state: dict[int, dict[str, Any]] = optimiser.state_dict()["state"]
    found = {f"{index}.{name}": value for index, entry in state.items() for name, value in entry.items()}
    for name, value in found.items():
        if not isinstance(value, Tensor):
            kind = type(optimiser).__name__
            raise WorkFailed(f"{kind}: its state {name} is {value!r}: a checkpoint holds only tensors")
    return found


def _fill_optimiser(optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        index, _, entry = name.partition(".")
        state.setdefault(int(index), {})[entry] = value
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})


def _scaler_tensors(scaler: torch.amp.GradScaler | None) -> dict[str, Tensor]:
    """Return the state of a loss scaler: the scale, and the steps since it was last changed."""
    if scaler is None:
        return {}
    state = scaler.state_dict()
    return {"scaler.state": torch.tensor([state["scale"], state["_growth_tracker"]], dtype=torch.float64)}


def _fill_scaler(scaler: torch.amp.GradScaler | None, tensors: dict[str, Tensor]) -> None:
    if scaler is not None and "state" in tensors:
        scale, steps = tensors["state"].tolist()
        scaler.load_state_dict({**scaler.state_dict(), "scale": scale, "_growth_tracker": int(steps)})
