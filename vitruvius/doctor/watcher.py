"""The watcher: what is known of a training so far, which steps are watched, and the trace of events."""

import time
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from vitruvius import checks
from vitruvius.checks import Event, Trace
from vitruvius.doctor import user_code, windows
from vitruvius.doctor.carried_states import CarriedStates
from vitruvius.doctor.evaluating import Evaluations
from vitruvius.doctor.graphs_kept import KeptGraphs
from vitruvius.doctor.hazards import Hazards
from vitruvius.doctor.loading import Loaders
from vitruvius.doctor.networks import Networks
from vitruvius.doctor.optimiser_state import OptimiserState
from vitruvius.doctor.passes import LastForward, RunningModules
from vitruvius.doctor.rows import Rows
from vitruvius.doctor.scaling import Scaling
from vitruvius.doctor.tensor_facts import is_network
from vitruvius.doctor.twins import Twins

MOST_EVENTS = 400_000
SELDOM, MOST_PASSES = 32, 64
"""Steps between two evaluations that are looked at outside of a window, and the passes of each."""
LIBRARIES = (user_code.TORCH, user_code.PACKAGE)
E = TypeVar("E", bound=Event)
UNKNOWN: Any = object()
"""A fact that could not be found out."""


class Enough(BaseException):
    """The wanted number of optimiser steps was watched; no `except Exception` in the user's code stops it."""


class Looking:
    """A block in which the watcher computes; a class, since a generator would cost more than most blocks."""

    __slots__ = ("had_grad", "started", "was_busy", "watcher")

    def __init__(self, watcher: "Watcher") -> None:
        self.watcher = watcher

    def __enter__(self) -> None:
        watcher = self.watcher
        self.started, self.was_busy = time.perf_counter(), watcher.busy
        self.had_grad = torch.is_grad_enabled()
        watcher.busy = True
        torch._C._set_grad_enabled(False)

    def __exit__(self, *failure: object) -> None:
        torch._C._set_grad_enabled(self.had_grad)
        self.watcher.busy = self.was_busy
        self.watcher.spent += time.perf_counter() - self.started


class Watcher:
    """What is known of a training.

    The hooks tell `forward_passes`, `criteria`, `backward_passes` and `steps` what torch does; these add to
    it and change nothing in the training.
    """

    def __init__(self, steps: int | None = None) -> None:
        self.trace = Trace()
        self.limit = steps
        self.spent = 0.0  # seconds that watching took
        self.networks, self.rows = Networks(), Rows()
        self.graphs, self.scaling, self.twins = KeptGraphs(), Scaling(), Twins()
        self.carried = CarriedStates()
        self.loaders, self.evaluations = Loaders(), Evaluations()
        self.schedules: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self.numbers: dict[str, list[Any]] = {}  # reads, steps, last step, seconds and device, by line
        self.criterion_value: float | None = None  # of the last criterion
        self.counted = 0  # targets that its mean was taken over, 0 if that was not looked at
        self.accumulates = False  # some step has followed several backward passes
        self.states: weakref.WeakKeyDictionary[Optimizer, OptimiserState] = weakref.WeakKeyDictionary()
        self.stack: list[nn.Module] = []  # modules that are running inside one another
        self.optimisers = 0  # how many were built
        self.stepping: list[int] = []  # optimisers whose steps are running inside one another
        self.backwards = 0  # backward passes so far
        self.watching = True  # this step is watched; set by `choose`
        self.seeing = True  # this pass is looked at: the step is watched, or it is part of an evaluation
        self.sampling = True  # costly facts are computed now; set by `sample`
        self.began = 0  # the step at which the last training began
        self.until = 0  # no step before this one is watched
        self.switch: Callable[[bool, bool, bool], None] = lambda seeing, watching, sampling: None
        """Puts or takes the hooks on passes of modules and on methods of tensors; set where they are made."""
        self.evaluated: dict[tuple[str, int], int] = {}
        """The step at which gradients were last switched off, by line."""
        self.passes = 0  # of the evaluation that is looked at between two windows, 0 if there is none
        self.passed: set[tuple[str, int, bool]] = set()  # lines of passes since the last backward pass
        self.is_skipped = False  # the last pass was not looked at, so neither are its labels
        self.busy = False  # the watcher itself is computing: hooks stay silent
        self.quiet = False  # a step of torch's own optimisers is computing, of which no call matters
        self.running, self.last = RunningModules(), LastForward()
        self.pending: dict[str, Any] = {}  # the facts of the step that is being made
        self.graphs_read: Counter[str] = Counter()
        self.has_non_finite = False
        self.hazards = Hazards()
        self.has_source = False  # the operation that made NaN is known
        self.half = False  # float16 is used
        self.scores: tuple[int, ...] = ()  # shape of the predictions that the last criterion was given
        self.changes: deque[tuple[str, str, tuple[int, ...], int]] = deque(maxlen=64)
        """Changes in place: line, operation, shape, and version of the tensor afterwards."""
        self.results: dict[int, tuple[weakref.ref[Tensor], int]] = {}
        """Results that derivatives are computed from, by address: the tensor and its version."""
        self.predicting: set[tuple[str, int]] = set()  # lines that look for the largest number
        self.known_networks: set[int] = set()
        self.known_masks: set[tuple[Any, ...]] = set()
        self.comparable = True
        """Rows are points with one class each, so that nearest neighbours can be compared."""
        self.one_label = True  # no forward pass was compared with two different sets of labels
        self.after_last_step: dict[int, list[float]] = {}
        """The first values of one parameter of each optimiser, after its last step."""

    def position(self) -> int:
        """Steps so far. Without an optimiser, weights are updated by hand after each backward pass."""
        return self.trace.steps if self.optimisers else self.backwards

    def sample(self) -> None:
        """Decide whether costly facts are computed now."""
        step = max(self.position(), self.backwards // 64)
        sampling = self.watching and windows.is_sampled(step)
        if sampling != self.sampling:
            self.sampling = sampling
            self.switch(self.seeing, self.watching, sampling)

    def choose(self, optimiser: Optimizer | None = None) -> None:
        """Decide whether the coming step is watched, after one of an optimiser or a backward pass by hand."""
        step = self.position()
        if step < self.until:
            return
        watching = windows.is_watched(step, self.began, self.loaders.is_first_epoch())
        if not watching:
            self.until = windows.next_window(step)
            if not self.watching:
                return
        if watching and not self.watching and not self.stack:
            self.passes = 0
            self.watching = self.seeing = True
            self.switch(True, True, self.sampling)
            self.last, self.criterion_value, self.scaling = LastForward(), None, Scaling()
            self.passed.clear()
            for other, state in list(self.states.items()):
                state.begin(is_partial=other is not optimiser)
        elif self.watching and not watching:
            self.watching = self.seeing = False
            self.sampling = False
            self.switch(False, False, False)
            self.after_last_step.clear()
            self.trace.gap = self.trace.gap or len(self.trace.events)
        self.sample()

    def is_seldom(self, frame: FrameType | None) -> bool:
        """Gradients are switched off by a line: whether it happens seldom, as before an evaluation."""
        while frame is not None and frame.f_code.co_filename.startswith(LIBRARIES):
            frame = frame.f_back
        if frame is None:
            return False
        line, step = (frame.f_code.co_filename, frame.f_lineno), self.position()
        last, self.evaluated[line] = self.evaluated.get(line, -SELDOM), step
        return step - last >= SELDOM

    def may_evaluate(self) -> None:
        """Look at the coming passes, also between two windows."""
        if not self.passes and not self.watching:
            self.passes = 1
            self.switch(True, False, False)

    def sees(self, module: nn.Module) -> bool:
        """Whether a pass between two windows is looked at: one of the first of an evaluation."""
        trains = torch.is_grad_enabled() and module.training
        self.seeing = not trains and 0 < self.passes <= MOST_PASSES
        self.passes += not trains
        return self.seeing

    def end_evaluation(self) -> None:
        if self.passes:
            self.passes, self.seeing = 0, False
            self.switch(False, False, False)

    def looking(self) -> Looking:
        """Count the block's time as the watcher's; record no gradients, watch no calls."""
        return Looking(self)

    def now(self, where: str = "") -> dict[str, Any]:
        """The facts of every event: step and line of the user's code."""
        return {"step": self.trace.steps, "where": where or user_code.where()}

    def note(self, event: Event) -> None:
        """Append an event to the trace."""
        if len(self.trace.events) < MOST_EVENTS:
            self.trace.events.append(event)

    def note_known(self, kind: type[E], **facts: Any) -> E:
        """Append an event without its unknown facts."""
        unknown = [name for name, value in facts.items() if value is UNKNOWN]
        event = kind.without(unknown, **facts) if unknown else kind(**facts)
        self.note(event)
        return event

    def find_out(self, fact: str, compute: Callable[[], Any]) -> Any:
        """A fact (`Forward.batch`); UNKNOWN, with the reason in the trace, if finding it out fails."""
        try:
            return compute()
        except Exception as error:
            self.trace.lose(fact, error)
            return UNKNOWN

    def hold_result(self, value: Tensor) -> None:
        """Look after the result of an activation whose derivative is computed from it."""
        if isinstance(value, Tensor) and hasattr(value.grad_fn, "_saved_result") and len(self.results) < 256:
            self.results[value.data_ptr()] = (weakref.ref(value), value._version)

    def is_network(self, module: nn.Module) -> bool:
        """Whether a module has parameters and is no loss."""
        key = self.networks.keys.of(module)
        if key not in self.known_networks and is_network(module):
            self.known_networks.add(key)
        return key in self.known_networks

    def path_of(self, module: "weakref.ref[nn.Module] | None") -> str:
        """The path of a module in its network, also while that runs for the first time."""
        found = module() if module else None
        outer = self.stack[0] if self.stack else None
        if found is not None and outer is not None:
            inside = (path for path, inner in outer.named_modules() if inner is found)
            return next(inside, "") or type(found).__name__
        return self.networks.path(found)

    def number_read(self, tensor: Tensor, seconds: float) -> None:
        """A number was read from a tensor by the user's code."""
        step, device = self.trace.steps, tensor.device.type
        known = self.numbers.setdefault(user_code.where(), [0, 0, -1, 0.0, device])
        known[:4] = known[0] + 1, known[1] + (step != known[2]), step, known[3] + seconds

    def finish(self) -> Trace:
        """The trace, with everything that is known only at the end."""
        with self.looking():
            trace, networks = self.trace, self.networks
            self._note_the_end()
            if self.find_out("parameters", networks.finish) is UNKNOWN or networks.unreadable:
                trace.lose("parameters", networks.unreadable or RuntimeError())
            trace.parameters, trace.examples = networks.parameters, list(networks.examples.values())
            enough = self.comparable and len(self.rows.classes) >= 100
            trace.neighbours = self.find_out("neighbours", self.rows.neighbours) if enough else None
            trace.relabelled = self.rows.labelled_anew() if self.one_label else (0, 0)
            for name in {"parameters", "examples", "neighbours", "relabelled"} & set(trace.unknown):
                delattr(trace, name)  # to read it now raises `UnknownFact`
        return self.trace

    def _note_the_end(self) -> None:
        """Append what is known only at the end: graphs, copies, evaluations, loaders, numbers read."""
        step, networks = self.trace.steps, self.networks
        parts: dict[str, Callable[[], Iterator[Event]]] = {
            "GraphsKept": partial(self.graphs.at_the_end, step),
            "EvaluationInputs": partial(self.evaluations.at_the_end, step),
            "LoaderUsed": partial(self.loaders.at_the_end, step),
            "Twin": partial(self.twins.at_the_end, step, networks.keys.of, networks.parameters),
            "NumbersRead": self._reads,
        }
        for kind, part in parts.items():
            self.find_out(kind, partial(self._extend, part))

    def _extend(self, part: Callable[[], Iterator[Event]]) -> None:
        self.trace.events.extend(part())

    def _reads(self) -> Iterator[Event]:
        for where, (count, steps, _, seconds, device) in self.numbers.items():
            facts = {"count": count, "steps": steps, "seconds": seconds, "device": device}
            yield checks.NumbersRead(step=self.trace.steps, where=where, **facts)
