"""Score networks at initialisation: each score is a pure function of (network, proxy, minibatch, seed).

Nothing in this file knows an accuracy, or the name of a file that holds one.
"""

import hashlib
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import torch
from numpy.typing import NDArray
from torch import nn

from vitruvius import proxies
from vitruvius.arch import cost
from vitruvius.arch.arch import Arch
from vitruvius.core import allocator, files, plugins
from vitruvius.core.counted import counted
from vitruvius.core.errors import UserError
from vitruvius.core.records import Record, Score
from vitruvius.datasets import Dataset
from vitruvius.nn import vit
from vitruvius.ranking import aggregates, memory, spread, user_models
from vitruvius.ranking.settings import Executor
from vitruvius.ranking.spread import Lost
from vitruvius.ranking.user_models import UserModel
from vitruvius.training import device
from vitruvius.training.batches import batches_of

Network = Arch | UserModel
Scores = dict[str, Score]  # by proxy
ScoreTable = Mapping[str, Sequence[Sequence[Score]]]  # by proxy: for each network, a score per seed


class Minibatch(NamedTuple):
    """Images as a training would see them, with their labels; arrays, because they are sent to processes."""

    x: NDArray[Any]
    y: NDArray[Any]

    def sha256(self) -> str:
        return hashlib.sha256(self.x.tobytes() + self.y.tobytes()).hexdigest()


class Task(NamedTuple):
    """One network with weights drawn from one seed."""

    network: Network
    seed: int


class Shared(NamedTuple):
    """The proxies and minibatches that all tasks use."""

    proxies: Mapping[str, str]  # from requested name to the name or absolute path that any worker finds
    batches: Mapping[int, Minibatch]  # by seed
    device: str = "cpu"


class Scored(Record):
    """The scores of one network for one seed."""

    key: str
    """The content hash of everything the scores depend on."""
    seed: int
    scores: Scores
    timing: dict[str, float]
    """CPU-seconds of each proxy; a pass that several share is counted for the first of them."""
    peak_bytes: int | None = None
    """Memory of a training step with these images, where it was measured: of a user's module."""


@dataclass(frozen=True)
class Scoring:
    """All networks to be scored, and what their tasks share."""

    networks: Sequence[Network]
    shared: Shared

    @cached_property
    def tasks(self) -> dict[str, Task]:
        """Each network with each seed, by the content hash of everything its scores depend on."""
        hashes = {name: _file_hash(location) for name, location in self.shared.proxies.items()}
        sources = {name: files.folder_hashes(plugins.PACKAGE / name) for name in ("kernels", "nn", "proxies")}
        code = {"proxies": hashes, "code": sources, "torch": torch.__version__}
        if self.shared.device != "cpu":
            code["device"] = self.shared.device
        described = [_as_json(network) for network in self.networks]
        found = {}
        for seed, batch in self.shared.batches.items():
            condition = {**code, "seed": seed, "images": batch.sha256()}
            for network, text in zip(self.networks, described, strict=True):
                found[files.content_hash({**condition, "network": text})] = Task(network, seed)
        return found


def locate_proxies(names: Iterable[str]) -> dict[str, str]:
    """Return the requested proxies, then the structural ones, each with the name or path to load it by."""
    names = aggregates.members(aggregates.requested(names))
    asked = [name for name in names if name not in proxies.STRUCTURAL]
    found = {}
    for name in (*asked, *proxies.STRUCTURAL):
        proxies.get(name)
        file, colon, function = name.rpartition(":")
        found[name] = f"{Path(file).resolve()}:{function}" if colon else name
    return found


def minibatch(data: Dataset, size: int, seed: int) -> Minibatch:
    """Return the first minibatch that a training with this seed would see, without augmentation."""
    images = batches_of(data, data.train, seed=seed)
    if size > len(images):
        raise UserError(f"batch {size}: {data.name} has {len(images):,} training images")
    batch = images.batch(images.order(0)[:size])
    assert batch.y is not None, "the data were checked to have labels"
    return Minibatch(batch.x.numpy(), batch.y.numpy())


def read(lines: Iterable[Mapping[str, Any]], scoring: Scoring) -> dict[str, Scored]:
    """Return the scores among a run's records that belong to these tasks, by key."""
    scored = {str(line.get("key")): line for line in lines if line.get("kind") == "scored"}
    known = {key: line for key, line in scored.items() if key in scoring.tasks}
    return {
        key: Scored(**{name: line.get(name) for name in Scored.model_fields}) for key, line in known.items()
    }


def score_all(
    scoring: Scoring, done: Mapping[str, Any], executor: Executor = "here", workers: int = 0
) -> Generator[Scored, None, None]:
    """Score the tasks that are not done yet, in order."""
    left = {key: task for key, task in scoring.tasks.items() if key not in done}
    job = spread.Job(score, scoring.shared, scoring.shared.device)
    answers = spread.results(job, list(left.values()), executor, workers)
    for (key, task), answer in zip(left.items(), answers, strict=True):
        if isinstance(answer, Lost):
            answer = Answer(_failed(scoring.shared.proxies, answer.reason), {}, None)
        yield Scored(key=key, seed=task.seed, **answer._asdict())


class Answer(NamedTuple):
    """What a worker found out about one network with one seed."""

    scores: Scores
    timing: dict[str, float]
    peak_bytes: int | None


@allocator.keeping_freed_memory()
def score(shared: Shared, task: Task) -> Answer:
    """Compute all proxies of one network, sharing passes; a failure is recorded with its reason."""
    where = device.choose_device(shared.device)
    x, y = (torch.tensor(part).to(where) for part in shared.batches[task.seed])
    try:
        once = proxies.one_pass(_model(task, len(x)).to(where), x, y, seed=task.seed)
    except Exception as error:  # a user's network may raise anything
        return Answer(_failed(shared.proxies, _reason(error, len(x))), {}, None)
    peak = None if isinstance(task.network, Arch) else memory.training_bytes(once)
    scores, timing = {}, {}
    for name, location in shared.proxies.items():
        began = time.process_time()
        try:
            with once.seeded():
                scores[name] = Score.of(float(proxies.get(location)(once)))
        except Exception as error:  # a user's proxy as well
            scores[name] = Score(failed=_reason(error, len(x)))
        timing[name] = round(time.process_time() - began, 6)
    return Answer(scores, timing, peak)


def score_table(scoring: Scoring, done: Mapping[str, Scored]) -> dict[str, list[tuple[Score, ...]]]:
    """Arrange the scores by proxy: for each network, one per seed."""
    seeds, count = len(scoring.shared.batches), len(scoring.networks)
    found = [done[key].scores for key in scoring.tasks]
    return {
        proxy: [tuple(found[seed * count + index][proxy] for seed in range(seeds)) for index in range(count)]
        for proxy in scoring.shared.proxies
    }


def peak_bytes(scoring: Scoring, done: Mapping[str, Scored]) -> list[int | None]:
    """Return the memory of a training step of each network: in closed form, or as measured."""
    batch = len(next(iter(scoring.shared.batches.values())).x)
    return [
        cost.cost(network).training_bytes(batch) if isinstance(network, Arch) else done[key].peak_bytes
        for network, key in zip(scoring.networks, scoring.tasks, strict=False)
    ]


def _model(task: Task, batch: int) -> nn.Module:
    if isinstance(task.network, UserModel):
        return user_models.build(task.network, task.seed)
    cost.refuse_if_too_big(task.network, batch)
    return vit.build(task.network, task.seed)


def _failed(names: Iterable[str], reason: str) -> Scores:
    return {name: Score(failed=reason) for name in names}


def _reason(error: Exception, batch: int) -> str:
    """Return in one line why a score failed."""
    text = str(error)
    if isinstance(error, MemoryError | torch.OutOfMemoryError) or "allocate memory" in text:
        # Half the batch would be another score, not comparable with the others.
        return f"out of memory with {counted(batch, 'image')}: choose a smaller --batch"
    if isinstance(error, UserError):
        return text
    return f"{type(error).__name__}: {text.strip().partition(chr(10))[0][:200]}"


def _as_json(network: Network) -> Any:
    """Describe a network as JSON, independent of where its file lies."""
    if isinstance(network, UserModel):
        return [network.sha256, network.position]
    return network.model_dump(mode="json")


def _file_hash(location: str) -> str:
    """Return the SHA-256 of a user's proxy file; the package's own are hashed with their family."""
    file, colon, _ = location.rpartition(":")
    return files.sha256(Path(file)) if colon else ""
