"""Backward passes: the loss and its graph, the gradients, and the operation that made NaN or infinity."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from torch import Tensor

from vitruvius import checks
from vitruvius.checks import Waiting
from vitruvius.doctor import autograd_graph, user_code
from vitruvius.doctor.graphs_kept import nodes_below
from vitruvius.doctor.hazards import Source
from vitruvius.doctor.steps import drop_gradients
from vitruvius.doctor.tensor_facts import one_number
from vitruvius.doctor.watcher import Watcher


def before_backward(watcher: Watcher, loss: Tensor) -> checks.Backward:
    """A backward pass begins."""
    with watcher.looking():
        where = user_code.where()
        for state in list(watcher.states.values()):
            if state.waiting and state.is_cleared():
                drop_gradients(watcher, state, where)
            state.passes += 1
            state.before_backward()
        watcher.backwards += 1
        watcher.scaling.begins(loss)
        watcher.passed.clear()
        watcher.sample()
        value = watcher.find_out("Backward.value", partial(one_number, loss))
        if isinstance(value, float) and not math.isfinite(value):
            value = None
            _note_non_finite(watcher, where)
        graph = watcher.find_out("Backward.graph", partial(_read_graph, watcher, loss, where))
        _look_after(watcher, loss, where)
        watcher.rows.add_trained(watcher.last.rows)
        return watcher.note_known(
            checks.Backward,
            **watcher.now(where),
            operation=autograd_graph.operation_of(loss),
            network=watcher.last.network,
            batch=watcher.last.batch,
            value=value,
            graph=graph,
            is_leaf=None if graph is None else loss.grad_fn is None,
        )


def _note_non_finite(watcher: Watcher, where: str) -> None:
    """Note the first loss that is NaN or infinite, and the operation that made it so."""
    if not watcher.has_non_finite:
        watcher.has_non_finite = True
        origin = autograd_graph.first_non_finite(watcher.last.model, watcher.last.args)
        watcher.note(checks.NonFinite(**watcher.now(where), origin=origin))
        watcher.hazards.alarmed = True
    _blame(watcher, watcher.hazards.of_value, False)


def check_loss(watcher: Watcher, loss: Tensor) -> None:
    """Between two windows a backward pass begins: see only whether the loss is a finite number."""
    # To read a number from a GPU would make the training wait.
    known = not watcher.has_non_finite and loss.device.type == "cpu" and loss.numel() == 1
    if known and not math.isfinite(loss.item()):
        with watcher.looking():
            _note_non_finite(watcher, user_code.where())


def count_unwatched(watcher: Watcher) -> bool:
    """Count a backward pass between two windows; whether something is to be done after it."""
    watcher.backwards += 1
    begins = not watcher.optimisers and watcher.backwards >= watcher.until
    return begins or watcher.passes > 0 or len(watcher.hazards.calls) > 0


def pass_backward(watcher: Watcher) -> None:
    """Between two windows a backward pass has ended, after which something is to be done."""
    watcher.end_evaluation()
    if watcher.hazards.calls and not watcher.has_non_finite:
        with watcher.looking():
            if not all(state.has_finite_gradient() for state in list(watcher.states.values())):
                _blame(watcher, watcher.hazards.of_gradient, True)
    watcher.hazards.clear()
    if not watcher.optimisers:
        watcher.choose()


def _look_after(watcher: Watcher, loss: Tensor, where: str) -> None:
    """Note graphs of earlier steps that exist still, or that this loss goes back into."""
    step = watcher.trace.steps if watcher.optimisers else watcher.backwards
    kept = watcher.graphs.before_backward(loss, where, step, watcher.backwards)
    for event in (kept, watcher.graphs.reaches_back(loss, watcher.trace.steps, watcher.last.model)):
        if event is not None:
            watcher.note(event)


def _read_graph(watcher: Watcher, loss: Tensor, where: str) -> checks.GraphFacts | None:
    if not watcher.sampling and watcher.graphs_read[where] >= 3:
        return None
    watcher.graphs_read[where] += 1
    graph, leaves = autograd_graph.read(loss, watcher.networks.keys.of)
    watcher.graphs.used_by(nodes_below(loss))
    for leaf in leaves:
        watcher.networks.add_parameter(leaf).reached = True
    return graph


def _blame(watcher: Watcher, find: Callable[[], Source | None], backward: bool) -> None:
    """Note the operation that made NaN or infinity, once."""
    source = None if watcher.has_source else watcher.find_out("NanSource", find)
    if isinstance(source, Source):
        watcher.has_source, hazard = True, source.hazard
        name, path = hazard.operation.strip("_"), watcher.path_of(hazard.module)
        facts: dict[str, Any] = {"operation": name, "count": source.count, "what": source.what}
        watcher.note(checks.NanSource(**watcher.now(hazard.where), **facts, module=path, backward=backward))


def after_backward(watcher: Watcher, event: checks.Backward) -> None:
    """A backward pass has ended."""
    with watcher.looking():
        for state in list(watcher.states.values()):
            if state.has_new_gradients():
                state.waiting.append(_waiting(watcher, event))
                state.backwards += 1
                state.zeroed = False
                state.norm = state.gradient_norm()
                watcher.scaling.reached(state.key)
                if not math.isfinite(state.norm) and not watcher.has_non_finite:
                    _blame(watcher, watcher.hazards.of_gradient, True)
        watcher.scaling.factor = 1.0
        watcher.hazards.clear()
        watcher.results.clear()
        # A step inside the backward pass may have cleared the gradients already.
        is_sampled = event.is_leaf is not None  # as its graph, which may be unknown
        if is_sampled and watcher.trace.events[-1] is event:
            found = watcher.networks.gradients().items()
            rms = {key: float(gradient.norm()) / gradient.numel() ** 0.5 for key, gradient in found}
            zeros = {key: float((g == 0).float().mean()) for key, g in found} if watcher.half else {}
            watcher.note(checks.Gradients(**watcher.now(event.where), rms=rms, zeros=zeros))
        if not watcher.optimisers:
            watcher.choose()


def _waiting(watcher: Watcher, event: checks.Backward) -> Waiting:
    known = isinstance(watcher.criterion_value, float) and watcher.criterion_value
    value = getattr(event, "value", None) if known else None
    factor = value / watcher.criterion_value if value is not None and watcher.criterion_value else None
    rows, counted = watcher.last.input_rows(), watcher.counted if watcher.criterion_value else 0
    return Waiting(event.where, event.operation, event.batch, rows, factor, counted)
