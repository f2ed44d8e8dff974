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
BEGINNING = 16  # batches of the second epoch that show whether they come in the order of the first
LONGEST = 0.002  # seconds: a batch that is there sooner is never late
TIMES = 1.5  # a batch is late if it takes that many times the work on the one before


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
        self.lines: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()  # that built them
        self.numbers = itertools.count(1)
        self.indices: list[int] | None = None  # of the rows that were fetched last
        self.last: tuple[Used, list[Any] | None, Any] | None = None  # loader, indices and batch
        self.epoch = 0  # a number for the pass over a loader whose batch came last
        self.batches = itertools.count(1)
        self.shuffled = 0  # a number for the last batch, if a loader that shuffles gave it; otherwise 0

    def built(self, loader: Any) -> None:
        """A loader was built."""
        self.lines[loader] = user_code.where()

    def iterated(self, loader: Any, iterator: Any) -> None:
        """A pass over a loader begins."""
        used = self.known.get(loader)
        if used is None:
            used = self.known[loader] = Used(len(self.used) + 1, user_code.where(), _facts(loader))
            used.facts["built"] = self.lines.get(loader, "")
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
        self.shuffled = next(self.batches) if used.facts["shuffles"] else 0
        if used.ended and len(used.waits) < MOST_TIMES:
            used.waits.append(ended - started)
            used.computes.append(started - used.ended)
        used.ended = ended
        self.last, self.indices = (used, self.indices, batch), None

    def is_first_epoch(self) -> bool:
        """Whether a loader gives the training its first pass over the data, or begins the second."""
        return any(
            used.epochs < 2 or (used.epochs == 2 and used.index < BEGINNING)
            for used in self.used
            if used.trained
        )

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
                late=sum(w > max(LONGEST, TIMES * c) for w, c in zip(used.waits, used.computes, strict=True)),
                waited=median(used.waits) if used.waits else 0.0,
                computed=median(used.computes) if used.computes else 0.0,
                trained=used.trained,
                evaluated=used.evaluated,
                same=used.same,
                changed=used.changed,
                **used.facts,
            )


def _facts(loader: Any) -> dict[str, Any]:
    several = loader.num_workers > 1
    shared = (_shared_generator(loader.dataset) or _used_by(loader.collate_fn)) if several else ""
    together = distributed.is_available() and distributed.is_initialized()
    return {
        "workers": loader.num_workers,
        "sampler": type(loader.sampler).__name__,
        "dataset": type(loader.dataset).__name__,
        "processes": distributed.get_world_size() if together else 1,
        "grouped": together,
        "generator": shared if loader.worker_init_fn is None else "",
        "same_seed": loader.num_workers > 1 and _seeds_alike(loader.worker_init_fn),
        "shuffles": bool(getattr(loader.sampler, "num_samples", 0))
        or "Random" in type(loader.sampler).__name__,
    }


GENERATORS = ("random.Random", "torch._C.Generator")


def _is_generator(value: Any) -> bool:
    kind = f"{type(value).__module__}.{type(value).__name__}"
    return kind.startswith("numpy.random") or kind in GENERATORS


def _used_by(function: Any) -> str:
    """The global or enclosing variable with a random generator that a function reads."""
    code = getattr(function, "__code__", None)
    if code is None or not user_code.is_users(code.co_filename):
        return ""
    cells = zip(code.co_freevars, getattr(function, "__closure__", None) or (), strict=False)
    held = {name: cell.cell_contents for name, cell in cells if _is_filled(cell)}
    known = {**{name: function.__globals__.get(name) for name in code.co_names}, **held}
    return next((name for name, value in known.items() if _is_generator(value)), "")


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _shared_generator(dataset: Any, depth: int = 2) -> str:
    """The variable with a random generator that a data set, or what it holds, reads rows with."""
    methods = [getattr(type(dataset), name, None) for name in ("__getitem__", "__iter__", "__call__")]
    plain = [dataset] if callable(dataset) else []
    outside = next(filter(None, map(_used_by, [*methods, *plain])), "")
    if outside:
        return outside
    names = {
        name for method in methods for name in getattr(getattr(method, "__code__", None), "co_names", ())
    }
    parts = list(getattr(dataset, "__dict__", {}).items())
    if isinstance(dataset, list | tuple):  # several transforms
        parts += [("", value) for value in dataset[:16]]
    for attribute, value in parts:
        kind = type(value).__module__.partition(".")[0]
        if _is_generator(value):
            if attribute in names:
                return f"{type(dataset).__name__}.{attribute}"
        elif depth and (kind not in ("builtins", "torch", "numpy") or callable(value) or _is_list(value)):
            inner = _shared_generator(value, depth - 1)
            if inner:
                return inner
    wrapped = getattr(dataset, "dataset", None)
    return _shared_generator(wrapped, depth - 1) if depth and wrapped is not None else ""


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) < 16


def _seeds_alike(function: Any) -> bool:
    """Whether a worker_init_fn sets a seed and reads neither its argument nor torch's seed for the worker."""
    given = getattr(function, "args", ()) or getattr(function, "keywords", {})
    inner = getattr(function, "func", function)  # of functools.partial
    code = getattr(inner, "__code__", None)
    if code is not None and inner is not function:
        bound = len(getattr(function, "args", ())) + len(getattr(function, "keywords", {}))
        if code.co_argcount - bound != 1 or not given:
            return False
        worker = next((n for n in code.co_varnames[: code.co_argcount] if n not in function.keywords), "")
        return bool(worker) and "seed" in " ".join(code.co_names) and not _reads(code, worker)
    if code is None or code.co_argcount != 1 or "seed" not in " ".join(code.co_names):
        return False
    return not _reads(code, code.co_varnames[0])


def _reads(code: Any, argument: str) -> bool:
    """Whether a function reads an argument, or torch's seed for the worker."""
    import dis

    own = {"initial_seed", "get_worker_info"}
    loads = [step for step in dis.get_instructions(code) if step.opname.startswith("LOAD_")]
    read = any(step.argval == argument for step in loads)
    return read or argument in code.co_cellvars or bool(own & set(code.co_names))


def replaced() -> tuple[type[Any], type[Any], type[Any]]:
    """The classes whose methods are watched: loader, iterator, fetcher."""
    return DataLoader, dataloader._BaseDataLoaderIter, fetch._MapDatasetFetcher


def clock() -> float:
    """Seconds of a clock that is never set back."""
    return time.perf_counter()
