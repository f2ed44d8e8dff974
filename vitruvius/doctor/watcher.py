"""The watcher: records forward passes, losses, backward passes and steps as a trace of typed events."""

import math
import time
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterator
from functools import partial
from types import CodeType, FrameType
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from vitruvius import checks
from vitruvius.checks import Event, Trace, Waiting, first_tensor, input_name
from vitruvius.doctor import autograd_graph, criterion_facts, padded_numbers, targets, user_code, windows
from vitruvius.doctor.carried_states import CarriedStates
from vitruvius.doctor.evaluating import Evaluations
from vitruvius.doctor.graphs_kept import KeptGraphs, is_recorded, nodes_below
from vitruvius.doctor.hazards import Hazard, Hazards, Source
from vitruvius.doctor.loading import Loaders
from vitruvius.doctor.masks import hides_tokens, is_emptied
from vitruvius.doctor.networks import Networks
from vitruvius.doctor.optimiser_state import OptimiserState, has_gradient, scheduler_facts
from vitruvius.doctor.passes import MODAL, Compared, LastForward, RunningModules
from vitruvius.doctor.rows import Rows, shifted_axis
from vitruvius.doctor.scaling import Scaling
from vitruvius.doctor.tensor_facts import (
    NORMS,
    WEIGHTED,
    batch_size,
    detached,
    first_values,
    is_continuous,
    is_network,
    label_range,
    one_number,
    row_hashes,
    row_sums,
    statistics,
    type_name,
    uses_float16,
)
from vitruvius.doctor.twins import Twins

MOST_EVENTS = 400_000
FIRST_STEPS = 8  # in which the graphs of all passes are looked after
MOST_TRAININGS = 8  # whose first steps are all watched
SELDOM, MOST_PASSES = 32, 64
"""Steps between two evaluations that are looked at outside of a window, and the passes of each."""
LIBRARIES = (user_code.TORCH, user_code.PACKAGE)
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
        self.started, self.was_busy, self.had_grad = (
            time.perf_counter(),
            watcher.busy,
            torch.is_grad_enabled(),
        )
        watcher.busy = True
        torch._C._set_grad_enabled(False)

    def __exit__(self, *failure: object) -> None:
        torch._C._set_grad_enabled(self.had_grad)
        self.watcher.busy = self.was_busy
        self.watcher.spent += time.perf_counter() - self.started


class Watcher:
    """Records what a training does. The hooks call its methods, which change nothing."""

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
        self.watching = True  # this step is watched; set by `_choose`
        self.seeing = True  # this pass is looked at: the step is watched, or it is part of an evaluation
        self.sampling = True  # costly facts are computed now; set by `_sample`
        self.began = 0  # the step at which the last training began
        self.switch: Callable[[bool, bool], None] = lambda passes, methods: None
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
        self.predicting: set[tuple[CodeType, int]] = set()  # lines that look for the largest number
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

    def _sample(self) -> None:
        """Decide whether costly facts are computed now."""
        step = max(self.position(), self.backwards // 64)
        self.sampling = self.watching and windows.is_sampled(step)

    def _choose(self, optimiser: Optimizer | None = None) -> None:
        """Decide whether the coming step is watched, after one of an optimiser or a backward pass by hand."""
        watching = windows.is_watched(self.position(), self.began, self.loaders.is_first_epoch())
        if not watching and not self.watching:
            return
        if watching and not self.watching and not self.stack:
            self.passes = 0
            self.watching = self.seeing = True
            self.switch(True, True)
            self.last, self.criterion_value, self.scaling = LastForward(), None, Scaling()
            self.passed.clear()
            for other, state in list(self.states.items()):
                state.begin(is_partial=other is not optimiser)
        elif self.watching and not watching:
            self.watching = self.seeing = False
            self.switch(False, False)
            self.after_last_step.clear()
            self.trace.gap = self.trace.gap or len(self.trace.events)
        self._sample()

    def may_evaluate(self, frame: FrameType | None) -> None:
        """Gradients are switched off: between two windows look at the coming passes, if it happens seldom."""
        while frame is not None and frame.f_code.co_filename.startswith(LIBRARIES):
            frame = frame.f_back
        if frame is None:
            return
        line, step = (frame.f_code.co_filename, frame.f_lineno), self.position()
        last, self.evaluated[line] = self.evaluated.get(line, -SELDOM), step
        if step - last >= SELDOM and not self.passes and not self.watching:
            self.passes = 1
            self.switch(True, False)

    def sees(self, module: nn.Module) -> bool:
        """Whether a pass between two windows is looked at: one of the first of an evaluation."""
        trains = torch.is_grad_enabled() and module.training
        self.seeing = not trains and 0 < self.passes <= MOST_PASSES
        self.passes += not trains
        return self.seeing

    def _end_evaluation(self) -> None:
        if self.passes:
            self.passes, self.seeing = 0, False
            self.switch(False, False)

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

    def note_known(self, kind: type[Event], **facts: Any) -> None:
        """Append an event without its unknown facts."""
        unknown = [name for name, value in facts.items() if value is UNKNOWN]
        known = {name: value for name, value in facts.items() if value is not UNKNOWN}
        self.note(kind.without(unknown, **known) if unknown else kind(**known))

    def find_out(self, fact: str, compute: Callable[[], Any]) -> Any:
        """A fact (`Forward.batch`); UNKNOWN, with the reason in the trace, if finding it out fails."""
        try:
            return compute()
        except Exception as error:
            self.trace.lose(fact, error)
            return UNKNOWN

    def enters(self, module: nn.Module) -> None:
        """A module is about to run."""
        if not self.stack:
            self.running = RunningModules(self.is_network(module))
        self.stack.append(module)

    def fails(self, module: nn.Module) -> None:
        """A module has raised an error, as a checkpointed one does when enough is recomputed."""
        if any(running is module for running in self.stack):
            while self.stack.pop() is not module:
                pass

    def leaves(self, module: nn.Module, args: Any, kwargs: Any) -> None:
        """A module has run."""
        self.fails(module)
        if isinstance(module, MODAL):
            self.running.note_mode(module)
        if self.sampling:
            self.networks.called.add(self.networks.keys.of(module))
            first = self.running.first_input is None and isinstance(module, WEIGHTED + NORMS)
            if first and torch.is_grad_enabled():
                with self.looking():
                    find = partial(statistics, module, args)
                    self.running.first_input = self.find_out("Forward.first_input", find)
                    self.running.first_layer = module
        if self.stack:
            return
        grad, compared = torch.is_grad_enabled(), self.running.compared
        with self.looking():
            is_network = self.running.inside_network or self.is_network(module)
            if is_network and not self._skips(module, grad):
                self._network_ran(module, args, kwargs, grad)
            for found in compared:
                self._pair(found)
        self.running.compared = []

    def _skips(self, module: nn.Module, grad: bool) -> bool:
        """Whether a pass is like one that was looked at: in training, again before the backward pass."""
        key = (user_code.where(), self.networks.keys.of(module), module.training)
        self.is_skipped = grad and not self.sampling and key in self.passed and key in self.graphs.used
        if grad:  # an evaluation at the same line is none of the passes before a backward pass
            self.passed.add(key)
        return self.is_skipped

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

    def _network_ran(self, model: nn.Module, args: Any, kwargs: Any, grad: bool) -> None:
        last, self.last = self.last, LastForward()  # if this fails, nothing is paired with an earlier pass
        network = self.networks.add(model)
        x = first_tensor((args, kwargs.get(input_name(kwargs)), kwargs))
        hashes = self.find_out("Forward.batch", partial(row_hashes, x))
        is_known = hashes is not UNKNOWN
        # Folds and ensembles share rows, but each network has its own training rows.
        rows = [hash((network, row)) for row in hashes] if is_known else []
        batch = hash(tuple(hashes)) if is_known else 0
        example = self.networks.examples.get(network)
        if grad and example is None and x is not None:
            self.networks.add_example(model, args, kwargs)
        elif grad and example is not None and batch != last.batch:
            example.batches = min(example.batches + 1, 9)
        running, path = self.running, self.networks.path
        where = user_code.where()
        recomputes = bool(running.training) and not grad and user_code.is_called_by("swa_utils")
        continuous = not grad and self.find_out("Forward.continuous", partial(is_continuous, x))
        trained = 0 if x is None or not is_known else self.rows.count_trained(rows, x, continuous is True)
        if grad:
            self.rows.recent.append((sum(row in self.rows.trained for row in rows), len(rows)))
        elif self.trace.gap and not self.rows.is_complete():
            trained = 0  # of a training set that was not watched whole some rows would be known
        facts = {"batch": batch, "rows": len(rows), "trained_rows": trained}
        if not is_known:
            facts = dict.fromkeys(facts, UNKNOWN)
            for fact in facts:
                self.trace.unknown[f"Forward.{fact}"] = self.trace.unknown["Forward.batch"]
        self.note_known(
            checks.Forward,
            step=self.trace.steps,
            where=where,
            **facts,
            network=network,
            name=type(model).__name__,
            function=user_code.function_name(),
            training=model.training,
            grad=grad,
            size=self.find_out("Forward.size", partial(batch_size, x)),
            epoch=self.loaders.epoch if self.loaders.last is not None else 0,
            single_input=len(args) + len(kwargs) == 1,
            training_module=path(running.training),
            eval_module=path(running.eval),
            batch_norm=path(running.batch_norm),
            updates_statistics=recomputes,
            first_input=None if x is not None and x.requires_grad else running.first_input,
            first_layer=path(running.first_layer),
            frozen_norm=path(running.frozen_norm),
            frozen_keys=self._keys(running.frozen_norm),
            continuous=continuous,
            dtypes=(type_name(x), self.networks.dtype(network, model, self.sampling)),
        )
        known = [row in self.rows.trained for row in rows]
        self._look_at_inputs(network, x if len(args) + len(kwargs) == 1 else None, grad, where, known)
        self.half = self.half or (x is not None and (x.dtype == torch.float16 or uses_float16(x)))
        if running.masks:
            self.find_out("Mask", partial(self._judge_masks, (*args, *kwargs.values())))
        derived = x is not None and x.requires_grad
        # Detached: what a network was given must not keep the graph of an earlier one alive.
        x = None if x is None else x.detach()
        inputs, words = tuple(map(detached, args)), tuple(map(detached, kwargs.values()))
        self.last = LastForward(model, inputs, words, x, rows, batch, grad, network, where, derived)

    def _keys(self, module: nn.Module | None) -> tuple[int, ...]:
        return tuple(map(self.networks.keys.of, module.parameters())) if module is not None else ()

    def _look_at_inputs(
        self, network: int, x: Tensor | None, grad: bool, where: str, known: list[bool]
    ) -> None:
        facts = (network, where, x, grad, self.trace.steps, self.sampling, known, self.loaders.epoch)
        ran = partial(self.evaluations.network_ran, *facts)
        self.find_out("EvaluationInputs", ran)
        self.find_out("LoaderUsed", partial(self.loaders.network_ran, grad))

    def network_returned(self, model: nn.Module, given: Any, output: Any) -> None:
        """A network has returned: look after the graph of its output."""
        if is_recorded() and self.is_network(model):
            key = (user_code.where(), self.networks.keys.of(model), model.training)
            if key in self.graphs.used and not self.sampling and self.trace.steps >= FIRST_STEPS:
                return  # a line that trains, looked at before
            with self.looking():
                self.graphs.network_ran(key, model, given, output, self.trace.steps, self.backwards)
                facts = self.carried.network_ran(model, given, output, self.loaders.shuffled)
                if facts:
                    self.note(checks.StateCarried(**self.now(key[0]), network=key[1], **facts))

    def path_of(self, module: "weakref.ref[nn.Module] | None") -> str:
        """The path of a module in its network, also while that runs for the first time."""
        found = module() if module else None
        outer = self.stack[0] if self.stack else None
        if found is not None and outer is not None:
            inside = (path for path, inner in outer.named_modules() if inner is found)
            return next(inside, "") or type(found).__name__
        return self.networks.path(found)

    def note_mask(self, argument: str, where: str, module: Any, **facts: Any) -> None:
        """Note a mask that looks inverted, once for each line."""
        if any(facts.values()) and (argument, where, *facts) not in self.known_masks:
            self.known_masks.add((argument, where, *facts))
            path = self.path_of(module)
            self.note(checks.Mask(**self.now(where), argument=argument, module=path, **facts))

    def _judge_masks(self, inputs: tuple[Any, ...]) -> None:
        """Compare what masks hide with the tokens that the network was given."""
        tokens = [x for x in inputs if isinstance(x, Tensor) and x.dim() in (2, 3) and x.dtype != torch.bool]
        for argument, where, module, hidden in self.running.masks:
            facts = {
                "hides_tokens": any(hides_tokens(hidden, x) for x in tokens),
                "emptied": is_emptied(hidden),
            }
            self.note_mask(argument, where, module, **facts)

    def criterion(
        self,
        name: str,
        scores: Tensor,
        target: Any,
        value: Tensor,
        reduction: str,
        given: dict[str, Any] | None = None,
    ) -> None:
        """A loss function of torch.nn.functional returned a value."""
        given = given or {}
        self.scores = tuple(scores.shape)
        if self.is_skipped and not self.sampling:
            self.criterion_value = None
            return
        self.half = self.half or scores.dtype == torch.float16
        inside = bool(self.stack) and self.running.inside_network
        grad = torch.is_grad_enabled() if inside else self.last.grad
        with self.looking():
            classifies = name in ("cross_entropy", "nll_loss")
            sums: Any = None
            if self.sampling and scores.dim() >= 2 and classifies:
                sums = self.find_out("Criterion.probabilities", partial(row_sums, scores))
                if sums is UNKNOWN:
                    why = self.trace.unknown["Criterion.probabilities"]
                    self.trace.unknown.setdefault("Criterion.log_probabilities", why)
            ones, logarithms = (sums, sums) if sums is UNKNOWN else sums or (None, None)
            is_tensor, ignored = isinstance(target, Tensor), int(given.get("ignore_index", -100))
            details = None
            number = self.find_out("Criterion.value", partial(one_number, value))
            if classifies and is_tensor and isinstance(number, float) and math.isnan(number):
                self._note_nothing_counted(name, target, value, ignored)
            if self.sampling:
                named = (self.networks.path, self.networks.keys.of)
                find = partial(criterion_facts.details, name, scores, target, given, *named)
                details = self.find_out("Criterion.details", find)
            self.note_known(
                checks.Criterion,
                **self.now(),
                name=name,
                reduction=reduction,
                grad=grad,
                scores=tuple(scores.shape),
                classes=scores.shape[1] if scores.dim() >= 2 else 1,
                target=tuple(target.shape) if is_tensor else None,
                labels=self.find_out("Criterion.labels", partial(label_range, name, target)),
                rows=self._last_rows(),
                vocabulary=self._has_embedding(scores.shape[1] if scores.dim() >= 2 else 0),
                value=number,
                probabilities=ones,
                log_probabilities=logarithms,
                details=details,
            )
            self.criterion_value = number
            is_mean = classifies and is_tensor and reduction == "mean"
            self.counted = self._count(target, ignored) if is_mean else 0
            if not is_tensor:
                return
            counts = grad and reduction in ("mean", "sum") and given.get("weight") is None
            predicted = scores.detach() if self.sampling and not classifies else None
            compared = Compared(name, target.detach(), user_code.where(), ignored, counts, predicted)
            if inside:
                self.running.compared.append(compared)
            else:
                self._pair(compared)

    def _count(self, target: Tensor, ignored: int) -> int:
        """How many targets are not ignored; 0 if unknown. Looked at where backward passes add up."""
        if target.is_floating_point() or not self.accumulates:
            return 0
        counted = self.find_out("Criterion.labels", lambda: int((target != ignored).sum()))
        return counted if isinstance(counted, int) else 0

    def _last_rows(self) -> int:
        return len(self.last.x) if self.last.x is not None and self.last.x.dim() else 0

    def _has_embedding(self, rows: int) -> bool:
        """Whether an embedding of the network has so many rows, or one more or less."""
        if not self.sampling or self.last.model is None:
            return False
        layers = [layer for layer in self.last.model.modules() if isinstance(layer, nn.Embedding)]
        return any(abs(layer.num_embeddings - rows) <= 1 for layer in layers)

    def _note_nothing_counted(self, name: str, target: Tensor, value: Tensor, ignored: int) -> None:
        """The mean over targets that are all ignored is 0 / 0."""
        if not target.is_floating_point() and bool((target == ignored).all()):
            hazard = Hazard(f"{name} of ignored targets", user_code.where(), None, (), value.detach())
            self.hazards.found.append(Source(hazard, target.numel(), f"of {target.numel()} targets ignored"))

    def _judge_targets(self, compared: Compared) -> None:
        facts = targets.facts(compared, self.last, [mask for *_, mask in self.running.masks])
        facts = facts or padded_numbers.facts(compared, self.last)
        if facts is not None:
            self.note(checks.Targets(**self.now(compared.where), **facts))

    def _pair(self, compared: Compared) -> None:
        """Pair labels with the inputs of the forward pass whose output they were compared with."""
        name, target = compared.name, compared.target
        if self.sampling:
            self.find_out("Targets", partial(self._judge_targets, compared))
        self.find_out("relabelled", partial(self._keep_labels, name, target))
        self.find_out("EvaluationInputs", partial(self._compare, target))
        example, x = self.networks.examples.get(self.last.network), self.last.x
        if example and x is not None and not example.target_shape:
            axis = self.find_out("examples", partial(shifted_axis, x, target))
            example.target_shape, example.shifted = tuple(target.shape), axis in (0, 1)
            example.time_axis = axis if axis in (0, 1) else 1

    def _compare(self, target: Tensor) -> None:
        last, where = self.last, user_code.where()
        if not last.grad:
            self.evaluations.compared(last, where, target, self.trace.steps)
        elif last.x is not None and not last.is_derived and (self.sampling or self.backwards < 8):
            self.evaluations.paired(last.network, where, last.x, target)

    def _keep_labels(self, name: str, target: Tensor) -> None:
        x = self.last.x
        if name not in ("cross_entropy", "nll_loss") or target.is_floating_point() or not target.numel():
            return
        fits = x is not None and x.numel() and target.dim() == 1 and len(target) == len(x)
        if x is None or not fits or not self.last.grad or self.last.is_derived:
            return
        # Sorted labels number the rows (contrastive losses) or the classes of an episode.
        if bool((target[1:] >= target[:-1]).all()) and len(torch.unique(target)) > 2:
            return
        is_first = self.last.target is None
        earlier = self.last.target = target if self.last.target is None else self.last.target
        same = earlier.shape == target.shape and bool((earlier == target).all())
        # Mixup and several heads compare one forward pass with several labels.
        self.one_label = self.one_label and same
        self.comparable = self.comparable and self.one_label and x.is_floating_point()
        if is_first:
            self.rows.add_labels(self.last.rows, x, target)

    def before_backward(self, loss: Tensor) -> checks.Backward:
        """A backward pass begins."""
        with self.looking():
            where = user_code.where()
            for state in list(self.states.values()):
                if state.waiting and state.is_cleared():
                    self._drop(state, where)
                state.passes += 1
                state.before_backward()
            self.backwards += 1
            self.scaling.begins(loss)
            self.passed.clear()
            self._sample()
            value = self.find_out("Backward.value", partial(one_number, loss))
            if isinstance(value, float) and not math.isfinite(value):
                value = None
                self._note_non_finite(where)
            graph = self.find_out("Backward.graph", partial(self._read_graph, loss, where))
            self._look_after(loss, where)
            self.rows.add_trained(self.last.rows)
            facts: dict[str, Any] = {"value": value, "graph": graph}
            unknown = [name for name, fact in facts.items() if fact is UNKNOWN]
            event = checks.Backward.without(
                unknown,
                **self.now(where),
                operation=autograd_graph.operation_of(loss),
                network=self.last.network,
                batch=self.last.batch,
                **{name: fact for name, fact in facts.items() if fact is not UNKNOWN},
                is_leaf=None if graph is None else loss.grad_fn is None,
            )
            self.note(event)
        return event

    def _note_non_finite(self, where: str) -> None:
        """Note the first loss that is NaN or infinite, and the operation that made it so."""
        if not self.has_non_finite:
            self.has_non_finite = True
            origin = autograd_graph.first_non_finite(self.last.model, self.last.args)
            self.note(checks.NonFinite(**self.now(where), origin=origin))
            self.hazards.alarmed = True
        self._blame(self.hazards.of_value, False)

    def check_loss(self, loss: Tensor) -> None:
        """Between two windows a backward pass begins: see only whether the loss is a finite number."""
        # To read a number from a GPU would make the training wait.
        known = not self.has_non_finite and loss.device.type == "cpu" and loss.numel() == 1
        if known and not math.isfinite(loss.item()):
            with self.looking():
                self._note_non_finite(user_code.where())

    def pass_backward(self) -> None:
        """Between two windows a backward pass has ended."""
        self.backwards += 1
        self._end_evaluation()
        if self.hazards.calls and not self.has_non_finite:
            with self.looking():
                if not all(state.has_finite_gradient() for state in list(self.states.values())):
                    self._blame(self.hazards.of_gradient, True)
        self.hazards.clear()
        if not self.optimisers:
            self._choose()

    def _look_after(self, loss: Tensor, where: str) -> None:
        """Note graphs of earlier steps that exist still, or that this loss goes back into."""
        step = self.trace.steps if self.optimisers else self.backwards
        kept = self.graphs.before_backward(loss, where, step, self.backwards)
        for event in (kept, self.graphs.reaches_back(loss, self.trace.steps, self.last.model)):
            if event is not None:
                self.note(event)

    def _read_graph(self, loss: Tensor, where: str) -> checks.GraphFacts | None:
        if not self.sampling and self.graphs_read[where] >= 3:
            return None
        self.graphs_read[where] += 1
        graph, leaves = autograd_graph.read(loss, self.networks.keys.of)
        self.graphs.used_by(nodes_below(loss))
        for leaf in leaves:
            self.networks.add_parameter(leaf).reached = True
        return graph

    def _blame(self, find: Callable[[], Source | None], backward: bool) -> None:
        """Note the operation that made NaN or infinity, once."""
        source = None if self.has_source else self.find_out("NanSource", find)
        if isinstance(source, Source):
            self.has_source, hazard = True, source.hazard
            facts: dict[str, Any] = {
                "operation": hazard.operation.strip("_"),
                "count": source.count,
                "what": source.what,
            }
            path = self.path_of(hazard.module)
            self.note(checks.NanSource(**self.now(hazard.where), **facts, module=path, backward=backward))

    def after_backward(self, event: checks.Backward) -> None:
        """A backward pass has ended."""
        with self.looking():
            for state in list(self.states.values()):
                if state.has_new_gradients():
                    state.waiting.append(self._waiting(event))
                    state.backwards += 1
                    state.zeroed = False
                    state.norm = state.gradient_norm()
                    self.scaling.reached(state.key)
                    if not math.isfinite(state.norm) and not self.has_non_finite:
                        self._blame(self.hazards.of_gradient, True)
            self.scaling.factor = 1.0
            self.hazards.clear()
            self.results.clear()
            # A step inside the backward pass may have cleared the gradients already.
            is_sampled = event.is_leaf is not None  # as its graph, which may be unknown
            if is_sampled and self.trace.events[-1] is event:
                found = self.networks.gradients().items()
                rms = {key: float(gradient.norm()) / gradient.numel() ** 0.5 for key, gradient in found}
                zeros = {key: float((g == 0).float().mean()) for key, g in found} if self.half else {}
                self.note(checks.Gradients(**self.now(event.where), rms=rms, zeros=zeros))
            if not self.optimisers:
                self._choose()

    def _waiting(self, event: checks.Backward) -> Waiting:
        known = isinstance(self.criterion_value, float) and self.criterion_value
        value = getattr(event, "value", None) if known else None
        factor = value / self.criterion_value if value is not None and self.criterion_value else None
        rows, counted = self._last_rows(), self.counted if self.criterion_value else 0
        return Waiting(event.where, event.operation, event.batch, rows, factor, counted)

    def optimiser_built(self, optimiser: Optimizer) -> None:
        """An optimiser was built: a new training begins, without the rows and labels of an earlier one."""
        with self.looking():
            self.optimisers += 1
            if self.optimisers <= MOST_TRAININGS:
                self.began = self.position()
            self._choose()
            key_of, key = self.networks.keys.of, self.optimisers
            state = self.states[optimiser] = OptimiserState(weakref.ref(optimiser), key, key_of)
            for parameter in state.parameters():
                self.networks.add_parameter(parameter)
            self.note(checks.OptimiserBuilt(**self.now(), **state.facts()))
        self.rows.trained.clear()
        self.rows.labels.clear()
        first = state.parameters()[:1]
        if any(self.after_last_step.get(key_of(p)) not in (None, first_values(p)) for p in first):
            self.note(checks.Restarted(**self.now(), optimiser=key))

    def weights_loaded(self, module: nn.Module) -> None:
        """Weights were loaded into a module while it trains."""
        if self.trace.steps:
            with self.looking():
                known = [(state.key, state.parameters()) for state in self.states.values()]
                self.twins.loaded(module, known)

    def zero_grad(self, owner: Optimizer | nn.Module) -> None:
        """Gradients of an optimiser or a module are about to be zeroed."""
        with self.looking():
            keys = set(map(id, owner.parameters())) if isinstance(owner, nn.Module) else None
            where = user_code.where()
            for optimiser, state in list(self.states.items()):
                if owner is not optimiser and not (keys and keys & set(map(id, state.sampled()))):
                    continue
                state.forget_gradients(keys)
                state.zeroed = True
                self.scaling.forget(state.key)
                if state.waiting:
                    self._drop(state, where)
                self.note(checks.ZeroGrad(**self.now(where), optimiser=state.key))

    def _drop(self, state: OptimiserState, where: str) -> None:
        lines = tuple(waiting.where for waiting in state.waiting)
        if self.stepping:  # a step that computes gradients of its own, as SAM does, has used these
            state.waiting = []
            return
        self.note(checks.GradientsDropped(**self.now(where), optimiser=state.key, lines=lines))
        state.waiting = []

    def before_step(self, optimiser: Optimizer, closure: bool) -> None:
        """An optimiser is about to step; gradients may have been scaled by hand since they were computed."""
        with self.looking():
            if optimiser not in self.states:
                self.optimiser_built(optimiser)
            state = self.states[optimiser]
            self._enter_step(state)
            if state.is_partial:
                return
            cleared = not closure and state.is_cleared()
            self.accumulates = self.accumulates or len(state.waiting) > 1
            norm = state.gradient_norm() if self.sampling or len(state.waiting) > 1 else 0.0
            is_scaled = bool(state.norm) and (self.sampling or bool(norm))
            self.pending = {
                "where": user_code.where(),
                "cleared": cleared,
                "zeroed": state.zeroed and state.backwards > 0 and cleared,
                "repeated": not closure and state.has_nothing_new(cleared),
                "stale": 0 if closure else state.count_stale(),
                "waiting": tuple(state.waiting),
                "gradient_scale": norm / state.norm if is_scaled else 1.0,
                "shared": sum(other.count_used(state) for other in self.states.values()),
                "common": self._common(state) if len(self.states) > 1 else (),
                **self.scaling.facts(state.key),
            }
            if self.sampling:
                state.copy_weights()
            known = partial(self.twins.before_step, state.key, state.parameters(), self.trace.steps)
            self.find_out("Twin", known)

    def _enter_step(self, state: OptimiserState) -> None:
        """Note the optimisers whose steps call that of another one: wrappers such as SAM."""
        if state.key in self.stepping:  # its last step has failed
            del self.stepping[self.stepping.index(state.key) :]
        for other in self.states.values():
            other.wraps = other.wraps or other.key in self.stepping
        self.stepping.append(state.key)

    def _common(self, state: OptimiserState) -> tuple[int, ...]:
        """The parameters with a gradient that another optimiser holds too."""
        if not self.sampling and state.steps > 20:
            return ()
        others = {id(p) for other in self.states.values() if other is not state for p in other.parameters()}
        return tuple(
            self.networks.keys.of(p) for p in state.parameters() if id(p) in others and has_gradient(p)
        )

    def after_step(self, optimiser: Optimizer) -> None:
        """An optimiser has stepped."""
        with self.looking():
            state = self.states[optimiser]
            if state.key in self.stepping:
                self.stepping.remove(state.key)
            if state.is_partial:
                state.after_step()
                return
            for parameter in state.parameters()[:1]:
                self.after_last_step[self.networks.keys.of(parameter)] = first_values(parameter)
            ratios = state.update_ratios() if state.copies else None
            state.after_step()
            self.find_out("Twin", partial(self.twins.after_step, state.key, self.trace.steps, self.sampling))
            self.scaling.forget(state.key)
            if state.watched <= 3 or self.sampling:
                for parameter in state.parameters():
                    if parameter.grad is not None:
                        self.networks.add_parameter(parameter).reached = True
            known, self.pending = self.pending, {}  # empty if a step inside this one has taken it
            now = self.now(known.pop("where", ""))
            self.note(checks.Step(**now, **state.facts(), **known, update_ratios=ratios))

    def count_step(self, optimiser: Optimizer) -> None:
        """A step has been made, whether it could be watched or not."""
        self.trace.steps += 1
        self.trace.watched += self.watching
        state = self.states.get(optimiser)
        if state is not None:
            state.steps += not self.watching
            self.trace.made[state.key] = state.steps
        self.find_out("Step", partial(self._choose, optimiser))
        if self.limit is not None and self.trace.steps >= self.limit:
            self.trace.ended = False
            raise Enough

    def number_read(self, tensor: Tensor, seconds: float) -> None:
        """A number was read from a tensor by the user's code."""
        step, device = self.trace.steps, tensor.device.type
        known = self.numbers.setdefault(user_code.where(), [0, 0, -1, 0.0, device])
        known[:4] = known[0] + 1, known[1] + (step != known[2]), step, known[3] + seconds

    def scheduler_built(self, scheduler: Any) -> None:
        """A scheduler was built."""
        self.schedules[scheduler] = user_code.where()

    def scheduler_step(self, scheduler: Any, failed: bool = False) -> None:
        """A scheduler has stepped, or refused to: note the learning rate that it has set."""
        with self.looking():
            optimiser = getattr(scheduler, "optimizer", None)
            state = self.states.get(optimiser) if isinstance(optimiser, Optimizer) else None
            facts = {**scheduler_facts(scheduler, state), "built": self.schedules.get(scheduler, "")}
            self.note(checks.SchedulerStep(**self.now(), **facts, failed=failed))

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
