"""The state of a watch: the trace as it is written, networks, rows, optimisers, and the time that watching takes."""

import time
import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from vitruvius.checks import Event, Trace
from vitruvius.doctor import user_code as tracing
from vitruvius.doctor.observing import Networks, Rows
from vitruvius.doctor.optimiser_state import Ledger

MOST_EVENTS = 400_000


class Recorder:
    """Holds a trace that is being written, and what must be remembered to write it."""

    def __init__(self, steps: int | None = None) -> None:
        self.trace = Trace()
        self.limit = steps
        self.spent = 0.0
        self.networks, self.rows = Networks(), Rows()
        self.ledgers: weakref.WeakKeyDictionary[Optimizer, Ledger] = weakref.WeakKeyDictionary()
        self.depth = 0
        self.busy = False
        self.noisy: nn.Module | None = None
        self.resting: nn.Module | None = None
        self.normalising: nn.Module | None = None
        self.first_input: tuple[float, float, float] | None = None
        self.last: dict[str, Any] = {}
        self.graphs_read: Counter[str] = Counter()
        self.broken = False

    @property
    def sampling(self) -> bool:
        """Whether costly looks are taken now: at the first steps, then ever more rarely."""
        step = self.trace.steps
        return step < 3 or (step % 20 == 0 if step < 200 else step % 100 == 0)

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Time spent here is the watcher's own; what it calls itself is not watched; nothing joins a graph."""
        started, was_busy, self.busy = time.perf_counter(), self.busy, True
        try:
            with torch.no_grad():
                yield
        finally:
            self.busy = was_busy
            self.spent += time.perf_counter() - started

    def note(self, kind: str, **facts: Any) -> None:
        """Write an event down."""
        if len(self.trace.events) < MOST_EVENTS:
            self.trace.events.append(
                Event(kind, self.trace.steps, facts.pop("at", "") or tracing.where(), facts)
            )
