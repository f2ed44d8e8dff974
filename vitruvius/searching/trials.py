"""One training of a search: an ordinary run of the one loop, paused at a rung and continued when promoted.

A training is a pure function of (network, seed, settings, data), wherever it runs. Its run folder holds its
checkpoints; on another machine the folder travels with the task, and back with the outcome.
"""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vitruvius.arch import tables
from vitruvius.arch.arch import Arch
from vitruvius.core import files, runs
from vitruvius.core.config import Flags, RunConfig
from vitruvius.core.errors import Interrupted, InUse, UserError, VitruviusError
from vitruvius.core.runs import RunFolder
from vitruvius.core.signals import StopRequest
from vitruvius.datasets import Dataset, Split
from vitruvius.training import classifier, device, session, side_by_side
from vitruvius.training.batches import Batches
from vitruvius.training.loop import Job
from vitruvius.training.recipe import CHANGEABLE, ClassifierSettings
from vitruvius.training.results import Paused

BASE = "mnist"
"""The preset whose every field a training's settings change to those of its network."""


class Training(RunConfig, ClassifierSettings):
    """The settings of one training, as `vitruvius train` records and reads them."""

    changeable: ClassVar[tuple[str, ...]] = CHANGEABLE


class Arrays(NamedTuple):
    """A data set without its test images, as arrays: it is sent to processes and machines."""

    facts: Mapping[str, Any]
    train: tuple[NDArray[Any], NDArray[Any]]
    validation: tuple[NDArray[Any], NDArray[Any]]

    @classmethod
    def of(cls, data: Dataset) -> "Arrays":
        """Return the arrays of a labelled data set."""
        facts = {
            name: getattr(data, name)
            for name in ("name", "classes", "mean", "std", "source", "sha256", "fit")
        }
        return cls(facts, _arrays(data.train), _arrays(data.validation))

    def dataset(self) -> Dataset:
        """Return the data set, with no test images."""
        # Copied: arrays that come from other processes may be read-only.
        train, validation = (Split(torch.tensor(x), torch.tensor(y)) for x, y in self[1:])
        return Dataset(**self.facts, train=train, validation=validation, test=Split(train.x[:0], None))


class Shared(NamedTuple):
    """What all trainings of a search share."""

    settings: Mapping[str, Any]  # of Training, without network and seed
    data: Arrays
    folder: str  # the search's run folder
    environment: Mapping[str, Any]
    allow_inexact: bool = False
    travels: bool = False  # workers do not see the folder: files travel


class Task(NamedTuple):
    """Train a network up to a step; `name` is that of its run folder."""

    name: str
    network: Mapping[str, Any]  # the options --arch and --set
    seed: int
    steps: int
    files: Mapping[str, bytes] = {}


class Outcome(NamedTuple):
    """What a training has reached, or why it failed."""

    accuracy: float | None = None
    loss: float | None = None
    correct: str = ""  # one bit per validation image, as hexadecimal digits; of trainings that have ended
    seconds: float = 0.0
    failed: str = ""
    interrupted: bool = False
    files: Mapping[str, bytes] = {}


class StopFile(StopRequest):
    """A request to stop that another process makes by writing a file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def __bool__(self) -> bool:
        return self.signal is not None or self.path.exists()


def options(arch: Arch, preset: str | None = None) -> dict[str, Any]:
    """Return the options --arch and --set that describe a network, whatever the data decide."""
    if preset is not None:
        return {"arch": preset, "set": ()}
    base = tables.presets()[BASE].arch.model_dump(mode="json")
    wanted = arch.model_dump(mode="json")
    free = [field for field in Arch.model_fields if field not in ("image", "channels", "classes")]
    changed = [field for field in free if wanted.get(field) != base.get(field)]
    return {"arch": BASE, "set": tuple(f"{field}={json.dumps(wanted.get(field))}" for field in changed)}


def train(shared: Shared, task: Task) -> Outcome:
    """Train a network from where its run folder is to a step; a failure is an outcome with its reason."""
    if not shared.travels:
        return _train(shared, task, Path(shared.folder))
    with TemporaryDirectory(prefix="vitruvius-") as folder:
        put_files(Path(folder) / "train" / task.name, task.files)
        outcome = _train(shared, task, Path(folder))
        return outcome._replace(files=get_files(Path(folder) / "train" / task.name))


def _train(shared: Shared, task: Task, root: Path) -> Outcome:
    began = time.perf_counter()
    try:
        try:
            outcome = _continued(shared, task, root)
        except InUse:
            raise
        except UserError:
            if not _is_begun(root, task.name):
                raise
            # What an earlier start has left cannot be gone on from: the same training, from its beginning.
            runs.clear(root / "train" / task.name)
            outcome = _continued(shared, task, root)
        return outcome._replace(seconds=time.perf_counter() - began)
    except Interrupted:
        return Outcome(interrupted=True)
    except (VitruviusError, MemoryError, RuntimeError) as error:
        return Outcome(failed=_reason(error), seconds=time.perf_counter() - began)


def _continued(shared: Shared, task: Task, root: Path) -> Outcome:
    config = Training(**{**shared.settings, **task.network, "seed": task.seed})
    named = {"resume": task.name} if _is_begun(root, task.name) else {"name": task.name}
    flags = Flags(runs=str(root), **named)  # type: ignore[arg-type]
    with runs.opened("train", config, flags) as (folder, config):
        if not folder.is_new and (faults := runs.check(folder.folder)):
            raise UserError(faults[0])
        return _trained(shared, task, folder, config, root)


def _trained(shared: Shared, task: Task, folder: RunFolder, config: Training, root: Path) -> Outcome:
    job = new_job(config, shared.data.dataset())
    job.stop, job.pause_at = StopFile(root / STOP), task.steps
    environment = dict(shared.environment)
    paused = None
    for record in session.run_job(folder, job, environment, shared.allow_inexact):
        if isinstance(record, Paused):
            paused = record
    if job.cursor.step > task.steps:
        raise UserError(f"{folder.folder}: trained for {job.cursor.step:,} steps, further than asked")
    if paused is not None:
        return Outcome(paused.val_accuracy, paused.val_loss)
    correct_n = correct(job, job.validation)
    return Outcome(float(correct_n.mean()), None, np.packbits(correct_n).tobytes().hex())


STOP = ".stop"
"""The file of a search's run folder that asks its trainings to stop."""


def new_job(config: Training, data: Dataset) -> Job:
    """Build the network and everything that trains it."""
    where = device.choose_device(config.device)
    arch = config.resolve(data, batch=-(-config.batch // config.accumulate))
    return classifier.job(config, data, arch, where)


def correct(job: Job, batches: Batches) -> NDArray[np.bool_]:
    """Return whether each image is classified correctly by the weights that the job has."""

    def right(sample_B: Tensor) -> NDArray[np.bool_]:
        batch = batches.batch(sample_B)
        return (job.model(batch.x).argmax(1) == batch.y).cpu().numpy()

    job.model.eval()
    every_n = torch.arange(len(batches))
    found = list(side_by_side.evaluated(right, every_n, job.evaluation_batch, batches.device))
    job.model.train()
    return np.concatenate(found)


def _is_begun(root: Path, name: str) -> bool:
    """Return whether the folder of a training holds anything but its lock."""
    folder = root / "train" / name
    return folder.is_dir() and any(not path.name.startswith(".") for path in folder.iterdir())


def get_files(folder: Path) -> dict[str, bytes]:
    """Read the files of a run folder, those of its checkpoints included."""
    paths = [path for path in sorted(folder.rglob("*")) if files.is_regular(path) and path.name[0] != "."]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def put_files(folder: Path, content: Mapping[str, bytes]) -> None:
    """Write the files of a run folder; the manifest of a checkpoint comes after its tensors."""
    for name in sorted(content, key=lambda name: name.endswith(".json")):
        path = folder / name
        if path.resolve().is_relative_to(folder.resolve()):
            path.parent.mkdir(parents=True, exist_ok=True)
            files.write(path, content[name])


def _arrays(split: Split) -> tuple[NDArray[Any], NDArray[Any]]:
    assert split.y is not None, "the data were checked to have labels"
    return split.x.numpy(), split.y.numpy()


def _reason(error: BaseException) -> str:
    """Return in one line why a training failed."""
    text = str(error).strip().partition("\n")[0][:200]
    if isinstance(error, MemoryError | torch.OutOfMemoryError) or "allocate memory" in text:
        return "out of memory: choose a smaller --batch or --max-memory"
    return text if isinstance(error, VitruviusError) else f"{type(error).__name__}: {text}"
