"""Checkpoints: the whole state of a training in two files, verified by SHA-256; the last two are kept.

`state/<step>.safetensors` holds weights, best weights, optimiser and RNG state; `state/<step>.json`, written
last, holds the cursor and the checksum. A pair that does not verify is skipped. There is no pickle anywhere.
"""

import hashlib
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from vitruvius.core import files
from vitruvius.core.errors import UserError, WorkFailed
from vitruvius.training import distributed
from vitruvius.training.loop import Cursor, Job

KEPT = 2  # checkpoints that stay on disk


def write(folder: Path, job: Job, best: dict[str, Tensor]) -> None:
    """Save the state of a job; called on every rank, written by rank 0."""
    rng = distributed.all_gather(torch.get_rng_state())
    if distributed.rank() != 0:
        return
    tensors = {
        **{f"model.{name}": value for name, value in distributed.unwrap(job.model).state_dict().items()},
        **{f"best.{name}": value for name, value in best.items()},
        **{f"optimiser.{name}": value for name, value in _optimiser_tensors(job.optimiser).items()},
        **{f"rng.{index}": value for index, value in enumerate(rng)},
    }
    if torch.cuda.is_available():
        tensors["rng.cuda"] = torch.cuda.get_rng_state()
    folder.mkdir(exist_ok=True)
    content = save({name: value.detach().contiguous() for name, value in tensors.items()})
    stem = f"{job.cursor.step:09d}-{job.cursor.epoch:05d}"
    files.write(folder / f"{stem}.safetensors", content)
    described = {"cursor": asdict(job.cursor), "sha256": hashlib.sha256(content).hexdigest()}
    files.write_json(folder / f"{stem}.json", {**described, "self": files.content_hash(described)})
    for old in _stems(folder)[:-KEPT]:
        (folder / f"{old}.json").unlink(missing_ok=True)
        (folder / f"{old}.safetensors").unlink(missing_ok=True)


def read(folder: Path, job: Job) -> tuple[dict[str, Tensor], list[str]]:
    """Restore the newest checkpoint that verifies; return the best weights and the faults of newer ones."""
    faults: list[str] = []
    for stem in reversed(_stems(folder)):
        try:
            cursor, tensors = _verified(folder, stem)
        except UserError as error:
            faults.append(str(error))
            continue
        return _restore(job, cursor, tensors), faults
    if faults:
        raise UserError(f"no usable checkpoint: {'; '.join(faults)}")
    return {}, []


def _stems(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.json") if re.fullmatch(r"\d{9}-\d{5}", path.stem))


def _verified(folder: Path, stem: str) -> tuple[Cursor, dict[str, Tensor]]:
    path = folder / f"{stem}.safetensors"
    described = files.read_json(folder / f"{stem}.json")
    claimed = described.pop("self", None) if isinstance(described, dict) else None
    if claimed != files.content_hash(described):
        raise UserError(f"{folder / stem}.json: its checksum does not match: the file is damaged")
    if not path.is_file():
        raise UserError(f"{path}: is missing")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != described["sha256"]:
        raise UserError(f"{path}: its SHA-256 does not match: the file is damaged")
    try:
        return Cursor(**described["cursor"]), load(content)
    except (SafetensorError, TypeError, KeyError) as error:
        raise UserError(f"{path}: not a checkpoint of this version: {error}") from error


def _restore(job: Job, cursor: Cursor, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    groups: dict[str, dict[str, Tensor]] = {"model": {}, "best": {}, "optimiser": {}, "rng": {}}
    for name, value in tensors.items():
        group, _, rest = name.partition(".")
        groups[group][rest] = value
    distributed.unwrap(job.model).load_state_dict(groups["model"])
    _fill_optimiser(job.optimiser, groups["optimiser"])
    torch.set_rng_state(groups["rng"][str(distributed.rank())])
    if "cuda" in groups["rng"] and torch.cuda.is_available():
        torch.cuda.set_rng_state(groups["rng"]["cuda"])
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
