"""Data loaders: how long a training waits for them, whose batches they give, and what their workers share."""

import itertools
import time
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from torch import Tensor, distributed
from torch.utils.data import DataLoader, dataloader
from torch.utils.data._utils import fetch

from vitruvius.checks import LoaderUsed, first_tensor
from vitruvius.doctor import user_code
from vitruvius.doctor.rows import hash_rows

MOST_TIMES, MOST_ROWS = 400, 4096
LONGEST = 0.01  # seconds: a batch that is there sooner is never late


@dataclass(slots=True)
class Used:
    """What is known about one data loader."""

    key: int
    where: str
    facts: dict[str, Any]
    epochs: int = 0
    waits: list[float] = field(default_factory=list)
    computes: list[float] = field(default_factory=list)
    ended: float = 0.0  # when it gave its last batch
    trained: int = 0  # passes with gradients on its batches
    evaluated: int = 0
    index: int = 0  # of the batch in its epoch
    rows: dict[Any, int] = field(default_factory=dict)  # hash of a row, by its index in the data set
    same: int = 0
    changed: int = 0


class Loaders:
    """The data loaders that were iterated over."""

    def __init__(self) -> None:
        self.known: weakref.WeakKeyDictionary[Any, Used] = weakref.WeakKeyDictionary()
        self.iterators: weakref.WeakKeyDictionary[Any, Used] = weakref.WeakKeyDictionary()
        self.used: list[Used] = []
        self.numbers = itertools.count(1)
        self.indices: list[int] | None = None  # of the rows that were fetched last
        self.last: tuple[Used, list[Any] | None, Any] | None = None  # loader, indices and batch
        self.epoch = 0  # a number for the pass over a loader whose batch came last

    def iterated(self, loader: Any, iterator: Any) -> None:
        """A pass over a loader begins."""
        used = self.known.get(loader)
        if used is None:
            used = self.known[loader] = Used(len(self.used) + 1, user_code.where(), _facts(loader))
            self.used.append(used)
        used.epochs += 1
        used.index = 0
        used.ended = 0.0
        self.iterators[iterator] = used

    def loaded(self, iterator: Any, batch: Any, started: float, ended: float) -> None:
        """A loader has given a batch."""
        used = self.iterators.get(iterator)
        if used is None:
            return
        if used.index == 0:
            self.epoch = next(self.numbers)
        used.index += 1
        if used.ended and len(used.waits) < MOST_TIMES:
            used.waits.append(ended - started)
            used.computes.append(started - used.ended)
        used.ended = ended
        self.last, self.indices = (used, self.indices, batch), None

    def network_ran(self, grad: bool) -> None:
        """A network has run, on the batch that was loaded last."""
        if self.last is None:
            return
        (used, indices, batch), self.last = self.last, None
        used.trained += grad
        used.evaluated += not grad
        if grad or not isinstance(batch, list | tuple | Tensor | dict):
            return
        x = first_tensor(batch)
        if x is None or not x.dim() or len(used.rows) > MOST_ROWS:
            return
        hashes = hash_rows(x)
        parts = list(batch.values()) if isinstance(batch, dict) else list(batch)
        labels = next((part for part in parts[1:] if isinstance(part, Tensor)), None)
        if indices is None:  # from a worker: rows are known by their position and by their labels
            if labels is None or labels.dim() != 1 or len(labels) != len(x):
                return
            indices = [(used.index, position, label) for position, label in enumerate(labels.tolist())]
        for index, row in zip(indices, hashes, strict=False):
            if index in used.rows:
                used.same += used.rows[index] == row
                used.changed += used.rows[index] != row
            used.rows[index] = row

    def at_the_end(self, step: int) -> Iterator[LoaderUsed]:
        """What is known about each loader."""
        for used in self.used:
            yield LoaderUsed(
                step=step,
                where=used.where,
                loader=used.key,
                epochs=used.epochs,
                batches=len(used.waits),
                late=sum(w > max(LONGEST, c) for w, c in zip(used.waits, used.computes, strict=True)),
                waited=median(used.waits) if used.waits else 0.0,
                computed=median(used.computes) if used.computes else 0.0,
                trained=used.trained,
                evaluated=used.evaluated,
                same=used.same,
                changed=used.changed,
                **used.facts,
            )


def _facts(loader: Any) -> dict[str, Any]:
    shared = _shared_generator(loader.dataset) if loader.num_workers > 1 else ""
    together = distributed.is_available() and distributed.is_initialized()
    return {
        "workers": loader.num_workers,
        "sampler": type(loader.sampler).__name__,
        "dataset": type(loader.dataset).__name__,
        "processes": distributed.get_world_size() if together else 1,
        "generator": shared if loader.worker_init_fn is None else "",
        "same_seed": loader.num_workers > 1 and _seeds_alike(loader.worker_init_fn),
        "shuffles": bool(getattr(loader.sampler, "num_samples", 0))
        or "Random" in type(loader.sampler).__name__,
    }


def _shared_generator(dataset: Any, depth: int = 2) -> str:
    """The attribute with a random generator that a data set (or what it holds) reads rows with."""
    code = [getattr(type(dataset), name, None) for name in ("__getitem__", "__iter__", "__call__")]
    names = {name for method in code for name in getattr(getattr(method, "__code__", None), "co_names", ())}
    for attribute, value in getattr(dataset, "__dict__", {}).items():
        kind = f"{type(value).__module__}.{type(value).__name__}"
        if kind.startswith("numpy.random") or kind in ("random.Random", "torch._C.Generator"):
            if attribute in names:
                return f"{type(dataset).__name__}.{attribute}"
        elif depth and kind.partition(".")[0] not in ("builtins", "torch", "numpy"):
            inner = _shared_generator(value, depth - 1)
            if inner:
                return inner
    wrapped = getattr(dataset, "dataset", None)
    return _shared_generator(wrapped, depth - 1) if depth and wrapped is not None else ""


def _seeds_alike(function: Any) -> bool:
    """Whether a worker_init_fn sets a seed and reads neither its argument nor torch's seed for the worker."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_argcount != 1 or "seed" not in " ".join(code.co_names):
        return False
    import dis

    argument, own = code.co_varnames[0], {"initial_seed", "get_worker_info"}
    reads = any(
        step.argval == argument and step.opname.startswith("LOAD_") for step in dis.get_instructions(code)
    )
    return not reads and argument not in code.co_cellvars and not own & set(code.co_names)


def replaced() -> tuple[type[Any], type[Any], type[Any]]:
    """The classes whose methods are watched: loader, iterator, fetcher."""
    return DataLoader, dataloader._BaseDataLoaderIter, fetch._MapDatasetFetcher


def clock() -> float:
    """Seconds of a clock that is never set back."""
    return time.perf_counter()
