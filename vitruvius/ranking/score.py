"""Scoring networks at initialisation: each score is a pure function of (network, proxy, minibatch, seed).

Nothing in this file knows an accuracy, or the name of a file that holds one: it is given networks and returns scores.
"""

import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import torch
from numpy.typing import NDArray
from torch import nn

from vitruvius import proxies
from vitruvius.arch import cost
from vitruvius.arch.arch import Arch
from vitruvius.core import files, plugins
from vitruvius.core.errors import UserError
from vitruvius.core.records import Record, Score
from vitruvius.datasets import Dataset
from vitruvius.nn import vit
from vitruvius.ranking import spread
from vitruvius.ranking import user_models as own
from vitruvius.ranking.spread import Lost, Place
from vitruvius.ranking.user_models import Own
from vitruvius.training.batches import batches_of

Network = Arch | Own
Scores = dict[str, Score]


class Minibatch(NamedTuple):
    """Images as a training would see them, with their labels; arrays, because they travel between processes."""

    x: NDArray[Any]
    y: NDArray[Any]

    def sha256(self) -> str:
        return hashlib.sha256(self.x.tobytes() + self.y.tobytes()).hexdigest()


class Task(NamedTuple):
    """One network with weights drawn from one seed."""

    network: Network
    seed: int


class Shared(NamedTuple):
    """What all tasks have in common."""

    proxies: Mapping[str, str]  # by the name they are asked for: where they are found on any machine
    batches: Mapping[int, Minibatch]  # by seed


class Scored(Record):
    """The scores of one network for one seed."""

    key: str
    """The content hash of everything they depend on."""
    seed: int
    scores: Scores
    timing: dict[str, float]
    """CPU-seconds of each proxy; a pass that several share is counted for the first of them."""


@dataclass(frozen=True)
class Plan:
    """Everything that is to be scored."""

    networks: Sequence[Network]
    shared: Shared

    @cached_property
    def tasks(self) -> dict[str, Task]:
        """Each network with each seed, by the content hash of what its scores depend on."""
        about = {
            "proxies": {name: _source(place) for name, place in self.shared.proxies.items()},
            "code": {
                family: files.folder_hashes(plugins.PACKAGE / family)
                for family in ("kernels", "nn", "proxies")
            },
            "torch": torch.__version__,
        }
        described = [_described(network) for network in self.networks]
        found = {}
        for seed, batch in self.shared.batches.items():
            known = {**about, "seed": seed, "images": batch.sha256()}
            for network, text in zip(self.networks, described, strict=True):
                found[files.content_hash({**known, "network": text})] = Task(network, seed)
        return found


def chosen(names: Iterable[str]) -> dict[str, str]:
    """The proxies that were asked for, then the structural ones, each with the place where it is found; all exist."""
    names = [member for name in names for member in (plugins.members("proxies") if name == "all" else [name])]
    asked = [name for name in dict.fromkeys(names) if name not in proxies.STRUCTURAL]
    found = {}
    for name in (*asked, *proxies.STRUCTURAL):
        proxies.get(name)
        file, colon, function = name.rpartition(":")
        found[name] = f"{Path(file).resolve()}:{function}" if colon else name
    return found


def minibatch(data: Dataset, size: int, seed: int) -> Minibatch:
    """The first minibatch that a training with this seed would see, without augmentation."""
    images = batches_of(data, data.train, seed=seed)
    if size > len(images):
        raise UserError(f"batch {size}: {data.name} has {len(images):,} training images")
    batch = images.batch(images.order(0)[:size])
    assert batch.y is not None, "the data were checked to have labels"
    return Minibatch(batch.x.numpy(), batch.y.numpy())


def read(lines: Iterable[Mapping[str, Any]], plan: Plan) -> dict[str, Scored]:
    """What a run's records hold of the plan already, by key."""
    found = {line["key"]: line for line in lines if line["kind"] == "scored" and line["key"] in plan.tasks}
    return {key: Scored(**{name: line[name] for name in Scored.model_fields}) for key, line in found.items()}


def scored(plan: Plan, done: Mapping[str, Any], place: Place = "here", workers: int = 0) -> Iterator[Scored]:
    """Score what is not done yet, in the order of the plan."""
    left = {key: task for key, task in plan.tasks.items() if key not in done}
    answers = spread.results(spread.Job(score, plan.shared), list(left.values()), place, workers)
    for (key, task), answer in zip(left.items(), answers, strict=True):
        if isinstance(answer, Lost):
            answer = _failed(plan.shared.proxies, answer.reason), {}
        scores, timing = answer
        yield Scored(key=key, seed=task.seed, scores=scores, timing=timing)


def score(shared: Shared, task: Task) -> tuple[Scores, dict[str, float]]:
    """All proxies of one network, sharing their passes; a failure is a score with a reason, never an end."""
    x, y = map(torch.tensor, shared.batches[task.seed])
    try:
        once = proxies.one_pass(_model(task, len(x)), x, y, seed=task.seed)
    except Exception as error:  # a user's network may raise anything
        return _failed(shared.proxies, _reason(error, len(x))), {}
    scores, timing = {}, {}
    for name, place in shared.proxies.items():
        began = time.process_time()
        try:
            with once.seeded():
                scores[name] = Score.of(float(_proxy(place)(once)))
        except Exception as error:  # a user's proxy as well
            scores[name] = Score(failed=_reason(error, len(x)))
        timing[name] = round(time.process_time() - began, 6)
    return scores, timing


def table(plan: Plan, done: Mapping[str, Scored]) -> dict[str, list[tuple[Score, ...]]]:
    """The scores by proxy: for each network of the plan, one per seed."""
    seeds, count = len(plan.shared.batches), len(plan.networks)
    found = [done[key].scores for key in plan.tasks]
    return {
        proxy: [tuple(found[seed * count + index][proxy] for seed in range(seeds)) for index in range(count)]
        for proxy in plan.shared.proxies
    }


@cache
def _proxy(place: str) -> proxies.Proxy:
    return proxies.get(place)


def _model(task: Task, batch: int) -> nn.Module:
    if isinstance(task.network, Own):
        return own.build(task.network, task.seed)
    cost.refuse_if_too_big(task.network, batch)
    return vit.build(task.network, task.seed)


def _failed(names: Iterable[str], reason: str) -> Scores:
    return {name: Score(failed=reason) for name in names}


def _reason(error: Exception, batch: int) -> str:
    """Why a score failed, in one line."""
    text = str(error)
    if isinstance(error, MemoryError | torch.OutOfMemoryError) or "allocate memory" in text:
        # Half the batch would be another score, not comparable with the others.
        return f"out of memory with {batch} images: choose a smaller --batch"
    if isinstance(error, UserError):
        return text
    return f"{type(error).__name__}: {text.strip().partition(chr(10))[0][:200]}"


def _described(network: Network) -> Any:
    """A network as JSON: what it is, not where it lies."""
    return [network.sha256, network.place] if isinstance(network, Own) else network.model_dump(mode="json")


def _source(place: str) -> str:
    """The SHA-256 of a user's proxy file; the package's own are hashed with their family."""
    file, colon, _ = place.rpartition(":")
    return files.sha256(Path(file)) if colon else ""
