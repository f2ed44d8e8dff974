"""The watcher: records forward passes, losses, backward passes and steps as a trace of typed events."""

import math
import time
import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.modules.loss import _Loss
from torch.optim import Optimizer

from vitruvius import checks
from vitruvius.checks import Event, Trace, Waiting, first_tensor
from vitruvius.doctor import autograd_graph, user_code
from vitruvius.doctor.networks import Networks
from vitruvius.doctor.optimiser_state import OptimiserState
from vitruvius.doctor.rows import Rows, hash_rows, is_shifted

MOST_EVENTS = 400_000
WEIGHTED = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.RNNBase)
NORMS = (_BatchNorm, nn.LayerNorm)
MODAL = (_DropoutNd, _BatchNorm, nn.RNNBase, nn.MultiheadAttention)
"""Layers that may act differently in training and in eval mode."""


class Enough(BaseException):
    """The wanted number of optimiser steps was watched; no `except Exception` in the user's code stops it."""


@dataclass(slots=True)
class LastForward:
    """The network that ran last and what it was given."""

    model: nn.Module | None = None
    args: tuple[Any, ...] = ()
    x: Tensor | None = None
    rows: list[int] = field(default_factory=list)
    batch: int = 0
    grad: bool = False
    target: Tensor | None = None  # the first labels that its output was compared with

    @property
    def network(self) -> int:
        """Its key, 0 if none has run."""
        return 0 if self.model is None else id(self.model)


@dataclass(slots=True)
class RunningModules:
    """What the modules of the forward pass that is running have shown so far."""

    training: nn.Module | None = None  # the first modal layer in training mode
    eval: nn.Module | None = None  # the first modal layer in eval mode
    batch_norm: nn.Module | None = None  # the first BatchNorm in training mode
    first_input: tuple[float, float, float] | None = None


class Watcher:
    """Records what a training does. The hooks call its methods, which change nothing."""

    def __init__(self, steps: int | None = None) -> None:
        self.trace = Trace()
        self.limit = steps
        self.spent = 0.0  # seconds that watching took
        self.networks, self.rows = Networks(), Rows()
        self.states: weakref.WeakKeyDictionary[Optimizer, OptimiserState] = weakref.WeakKeyDictionary()
        self.depth = 0  # modules that are running inside one another
        self.busy = False  # the watcher itself is computing: hooks stay silent
        self.running, self.last = RunningModules(), LastForward()
        self.pending: dict[str, Any] = {}  # the facts of the step that is being made
        self.graphs_read: Counter[str] = Counter()
        self.has_non_finite = False
        self.comparable = True
        """Rows are points with one class each, so that nearest neighbours can be compared."""
        self.one_label = True  # no forward pass was compared with two different sets of labels
        self.after_last_step: dict[int, list[float]] = {}
        """The first values of one parameter of each optimiser, after its last step."""

    @property
    def sampling(self) -> bool:
        """Whether costly facts are computed now: at the first steps, then ever more rarely."""
        step = self.trace.steps
        return step < 3 or (step % 20 == 0 if step < 200 else step % 100 == 0)

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Count the block's time as the watcher's; record no gradients, watch no calls."""
        started, was_busy, self.busy = time.perf_counter(), self.busy, True
        try:
            with torch.no_grad():
                yield
        finally:
            self.busy = was_busy
            self.spent += time.perf_counter() - started

    def now(self, where: str = "") -> dict[str, Any]:
        """The facts of every event: step and line of the user's code."""
        return {"step": self.trace.steps, "where": where or user_code.where()}

    def note(self, event: Event) -> None:
        """Append an event to the trace."""
        if len(self.trace.events) < MOST_EVENTS:
            self.trace.events.append(event)

    def enters(self, module: nn.Module) -> None:
        """A module is about to run."""
        if self.depth == 0:
            self.running = RunningModules()
        self.depth += 1

    def leaves(self, module: nn.Module, args: Any, kwargs: Any) -> None:
        """A module has run."""
        self.depth = max(0, self.depth - 1)
        if isinstance(module, MODAL):
            self._note_mode(module)
        if self.sampling:
            self.networks.called.add(id(module))
            first = self.running.first_input is None and isinstance(module, WEIGHTED + NORMS)
            if first and torch.is_grad_enabled():
                with self.looking():
                    self.running.first_input = _statistics(module, args)
        if self.depth == 0 and not isinstance(module, _Loss) and next(module.parameters(), None) is not None:
            grad = torch.is_grad_enabled()
            with self.looking():
                self._network_ran(module, args, kwargs, grad)

    def _note_mode(self, module: nn.Module) -> None:
        if isinstance(module, _DropoutNd) and module.p == 0:
            return
        if isinstance(module, nn.RNNBase | nn.MultiheadAttention) and module.dropout == 0:
            return
        if isinstance(module, _BatchNorm) and not module.track_running_stats:
            return
        running = self.running
        if module.training:
            running.training = running.training or module
            running.batch_norm = running.batch_norm or (module if isinstance(module, _BatchNorm) else None)
        else:
            running.eval = running.eval or module

    def _network_ran(self, model: nn.Module, args: Any, kwargs: Any, grad: bool) -> None:
        if id(model) not in self.networks.models:
            self.networks.add(model)
        x = first_tensor((args, kwargs))
        hashes = hash_rows(x) if x is not None and x.dim() and len(x) else []
        # Folds and ensembles share rows, but each network has its own training rows.
        rows, batch = [hash((id(model), row)) for row in hashes], hash(tuple(hashes))
        example = self.networks.examples.get(id(model))
        if grad and example is None and x is not None:
            self.networks.add_example(model, args, kwargs)
        elif grad and example is not None and batch != self.last.batch:
            example.batches = min(example.batches + 1, 9)
        running, path = self.running, self.networks.path
        recomputes = bool(running.training) and not grad and user_code.is_called_by("swa_utils")
        self.note(
            checks.Forward(
                **self.now(),
                network=id(model),
                name=type(model).__name__,
                function=user_code.function_name(),
                training=model.training,
                grad=grad,
                batch=batch,
                rows=len(rows),
                size=len(x) if x is not None and x.dim() > x.is_floating_point() else 0,
                single_input=len(args) + len(kwargs) == 1,
                trained_rows=0 if x is None else self.rows.count_trained(rows, x),
                training_module=path(running.training),
                eval_module=path(running.eval),
                batch_norm=path(running.batch_norm),
                updates_statistics=recomputes,
                first_input=None if x is not None and x.requires_grad else running.first_input,
            )
        )
        self.last = LastForward(model, args, x, rows, batch, grad)

    def criterion(self, name: str, scores: Tensor, target: Any, value: Tensor, reduction: str) -> None:
        """A loss function of torch.nn.functional returned a value."""
        with self.looking():
            classifies = name in ("cross_entropy", "nll_loss")
            sums = _row_sums(scores) if self.sampling and scores.dim() >= 2 and classifies else None
            self.note(
                checks.Criterion(
                    **self.now(),
                    name=name,
                    reduction=reduction,
                    grad=self.last.grad,
                    scores=tuple(scores.shape),
                    classes=scores.shape[1] if scores.dim() >= 2 else 1,
                    target=tuple(target.shape) if isinstance(target, Tensor) else None,
                    labels=self._labels(name, target) if isinstance(target, Tensor) else None,
                    value=float(value) if value.numel() == 1 else None,
                    probabilities=sums[0] if sums else None,
                    log_probabilities=sums[1] if sums else None,
                )
            )

    def _labels(self, name: str, target: Tensor) -> tuple[float, float, int] | None:
        """Smallest and largest label and their number; labels of a classified batch are kept."""
        labels: tuple[float, float, int] | None = None
        x = self.last.x
        if name.startswith("binary_cross_entropy") and target.numel():
            labels = float(target.min()), float(target.max()), target.numel()
        elif name in ("cross_entropy", "nll_loss") and not target.is_floating_point() and target.numel():
            labels = int(target.min()), int(target.max()), target.numel()
            if x is not None and x.numel() and self.last.grad and target.dim() == 1 and len(target) == len(x):
                self._keep_labels(x, target)
        example = self.networks.examples.get(self.last.network)
        if example and x is not None and not example.target_shape:
            example.target_shape, example.shifted = tuple(target.shape), is_shifted(x, target)
        return labels

    def _keep_labels(self, x: Tensor, target: Tensor) -> None:
        # Sorted labels number the rows (contrastive losses) or the classes of an episode.
        if len(torch.unique(target)) > 2 and bool((target[1:] >= target[:-1]).all()):
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
            value = float(loss) if loss.numel() == 1 else math.nan
            if loss.numel() == 1 and not math.isfinite(value) and not self.has_non_finite:
                self.has_non_finite = True
                origin = autograd_graph.first_non_finite(self.last.model, self.last.args)
                self.note(checks.NonFinite(**self.now(where), origin=origin))
            graph = self._read_graph(loss, where)
            self.rows.add_trained(self.last.rows)
            event = checks.Backward(
                **self.now(where),
                operation=autograd_graph.operation_of(loss),
                network=self.last.network,
                batch=self.last.batch,
                value=value if math.isfinite(value) else None,
                graph=graph,
                is_leaf=None if graph is None else loss.grad_fn is None,
            )
            self.note(event)
        return event

    def _read_graph(self, loss: Tensor, where: str) -> checks.GraphFacts | None:
        if not self.sampling and self.graphs_read[where] >= 3:
            return None
        self.graphs_read[where] += 1
        graph, leaves = autograd_graph.read(loss)
        for leaf in leaves:
            self.networks.add_parameter(leaf).reached = True
        return graph

    def after_backward(self, event: checks.Backward) -> None:
        """A backward pass has ended."""
        with self.looking():
            for state in list(self.states.values()):
                if state.has_new_gradients():
                    state.waiting.append(Waiting(event.where, event.operation, event.batch))
                    state.backwards += 1
                    state.zeroed = False
                    state.norm = state.gradient_norm()
            # A step inside the backward pass may have cleared the gradients already.
            if event.graph is not None and self.trace.events[-1] is event:
                found = self.networks.gradients().items()
                rms = {key: float(gradient.norm()) / gradient.numel() ** 0.5 for key, gradient in found}
                self.note(checks.Gradients(**self.now(event.where), rms=rms))

    def optimiser_built(self, optimiser: Optimizer) -> None:
        """An optimiser was built: a new training begins, without the rows and labels of an earlier one."""
        with self.looking():
            key = len(self.states) + 1 + self.trace.steps * 1000
            state = self.states[optimiser] = OptimiserState(optimiser, key)
            for parameter in state.parameters():
                self.networks.add_parameter(parameter)
            self.note(checks.OptimiserBuilt(**self.now(), **state.facts()))
        self.rows.trained.clear()
        self.rows.labels.clear()
        first = state.parameters()[:1]
        if any(self.after_last_step.get(id(p)) not in (None, _first_values(p)) for p in first):
            self.note(checks.Restarted(**self.now(), optimiser=key))

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
                if state.waiting:
                    self._drop(state, where)
                self.note(checks.ZeroGrad(**self.now(where), optimiser=state.key))

    def _drop(self, state: OptimiserState, where: str) -> None:
        lines = tuple(waiting.where for waiting in state.waiting)
        self.note(checks.GradientsDropped(**self.now(where), optimiser=state.key, lines=lines))
        state.waiting = []

    def before_step(self, optimiser: Optimizer, closure: bool) -> None:
        """An optimiser is about to step; gradients may have been scaled by hand since they were computed."""
        with self.looking():
            if optimiser not in self.states:
                self.optimiser_built(optimiser)
            state = self.states[optimiser]
            cleared = not closure and state.is_cleared()
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
            }
            if self.sampling:
                state.copy_weights()

    def after_step(self, optimiser: Optimizer) -> None:
        """An optimiser has stepped."""
        with self.looking():
            state = self.states[optimiser]
            for parameter in state.parameters()[:1]:
                self.after_last_step[id(parameter)] = _first_values(parameter)
            ratios = state.update_ratios() if state.copies else None
            state.after_step()
            if state.steps <= 3 or self.sampling:
                for key in state.used:
                    self.networks.parameters[key].reached = True
            known, self.pending = self.pending, {}  # empty if a step inside this one has taken it
            now = self.now(known.pop("where", ""))
            self.note(checks.Step(**now, **state.facts(), **known, update_ratios=ratios))
            self.trace.steps += 1
        if self.limit is not None and self.trace.steps >= self.limit:
            raise Enough

    def scheduler_step(self, scheduler: Any) -> None:
        """A scheduler has stepped: note the learning rate that it has set."""
        with self.looking():
            optimiser = getattr(scheduler, "optimizer", None)
            state = self.states.get(optimiser) if isinstance(optimiser, Optimizer) else None
            rates = [float(group["lr"]) for group in optimiser.param_groups] if optimiser else []
            key, steps = (state.key, state.steps) if state else (0, None)
            lr = max(rates, default=0.0)
            self.note(checks.SchedulerStep(**self.now(), optimiser=key, lr=lr, optimiser_steps=steps))

    def finish(self) -> Trace:
        """The trace, with everything that is known only at the end."""
        with self.looking():
            self.networks.finish()
            self.trace.parameters = self.networks.parameters
            self.trace.examples = list(self.networks.examples.values())
            enough = self.comparable and len(self.rows.classes) >= 100
            self.trace.neighbours = self.rows.neighbours() if enough else None
            self.trace.relabelled = (self.rows.relabelled, self.rows.again) if self.one_label else (0, 0)
        return self.trace


def _first_values(tensor: Tensor) -> list[float]:
    return tensor.detach().flatten()[:4].tolist()


def _row_sums(scores: Tensor) -> tuple[bool, bool] | None:
    """Whether all rows of the scores are distributions, and whether all are logarithms of distributions."""
    scores = scores.detach().float()
    if bool(scores.isnan().any()):
        return None
    ones = bool(((scores.sum(1) - 1).abs() < 1e-3).all()) and bool((scores >= 0).all())
    return ones, bool(((scores.exp().sum(1) - 1).abs() < 1e-3).all())


def _statistics(module: nn.Module, args: Any) -> tuple[float, float, float] | None:
    """Mean, standard deviation and largest magnitude of the input of the first layer with weights."""
    x = first_tensor(args)
    if not isinstance(module, WEIGHTED) or x is None or not x.is_floating_point() or x.numel() < 2:
        return (0.0, 1.0, 1.0)  # a normalisation comes first
    return float(x.mean()), float(x.std()), float(x.abs().max())
