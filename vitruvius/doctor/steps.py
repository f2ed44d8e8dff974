"""Optimisers and schedulers: what they hold, the gradients that are zeroed, and what each step did."""

import weakref
from functools import partial
from typing import Any

from torch import nn
from torch.optim import Optimizer

from vitruvius import checks
from vitruvius.doctor import user_code
from vitruvius.doctor.optimiser_state import OptimiserState, has_gradient, scheduler_facts
from vitruvius.doctor.tensor_facts import first_values
from vitruvius.doctor.watcher import Enough, Watcher

MOST_TRAININGS = 8  # whose first steps are all watched


def optimiser_built(watcher: Watcher, optimiser: Optimizer) -> None:
    """An optimiser was built: a new training begins, without the rows and labels of an earlier one."""
    with watcher.looking():
        watcher.optimisers += 1
        if watcher.optimisers <= MOST_TRAININGS:
            watcher.began = watcher.position()
        watcher.until = 0
        watcher.choose()
        key_of, key = watcher.networks.keys.of, watcher.optimisers
        state = watcher.states[optimiser] = OptimiserState(weakref.ref(optimiser), key, key_of)
        for parameter in state.parameters():
            watcher.networks.add_parameter(parameter)
        watcher.note(checks.OptimiserBuilt(**watcher.now(), **state.facts()))
    watcher.rows.trained.clear()
    watcher.rows.labels.clear()
    first = state.parameters()[:1]
    if any(watcher.after_last_step.get(key_of(p)) not in (None, first_values(p)) for p in first):
        watcher.note(checks.Restarted(**watcher.now(), optimiser=key))


def weights_loaded(watcher: Watcher, module: nn.Module) -> None:
    """Weights were loaded into a module while it trains."""
    if watcher.trace.steps:
        with watcher.looking():
            known = [(state.key, state.parameters()) for state in watcher.states.values()]
            watcher.twins.loaded(module, known)


def zero_grad(watcher: Watcher, owner: Optimizer | nn.Module) -> None:
    """Gradients of an optimiser or a module are about to be zeroed."""
    if not watcher.states:  # weights are moved by hand
        return
    with watcher.looking():
        keys = set(map(id, owner.parameters())) if isinstance(owner, nn.Module) else None
        where = user_code.where()
        for optimiser, state in list(watcher.states.items()):
            if owner is not optimiser and not (keys and keys & set(map(id, state.sampled()))):
                continue
            state.forget_gradients(keys)
            state.zeroed = True
            watcher.scaling.forget(state.key)
            if state.waiting:
                drop_gradients(watcher, state, where)
            watcher.note(checks.ZeroGrad(**watcher.now(where), optimiser=state.key))


def drop_gradients(watcher: Watcher, state: OptimiserState, where: str) -> None:
    lines = tuple(waiting.where for waiting in state.waiting)
    if watcher.stepping:  # a step that computes gradients of its own, as SAM does, has used these
        state.waiting = []
        return
    watcher.note(checks.GradientsDropped(**watcher.now(where), optimiser=state.key, lines=lines))
    state.waiting = []


def before_step(watcher: Watcher, optimiser: Optimizer, closure: bool) -> None:
    """An optimiser is about to step; gradients may have been scaled by hand since they were computed."""
    with watcher.looking():
        if optimiser not in watcher.states:
            optimiser_built(watcher, optimiser)
        state = watcher.states[optimiser]
        _enter_step(watcher, state)
        if state.is_partial:
            return
        cleared = not closure and state.is_cleared()
        watcher.accumulates = watcher.accumulates or len(state.waiting) > 1
        norm = state.gradient_norm() if watcher.sampling or len(state.waiting) > 1 else 0.0
        is_scaled = bool(state.norm) and (watcher.sampling or bool(norm))
        watcher.pending = {
            "where": user_code.where(),
            "cleared": cleared,
            "zeroed": state.zeroed and state.backwards > 0 and cleared,
            "repeated": not closure and state.has_nothing_new(cleared),
            "stale": 0 if closure else state.count_stale(),
            "waiting": tuple(state.waiting),
            "gradient_scale": norm / state.norm if is_scaled else 1.0,
            "shared": sum(other.count_used(state) for other in watcher.states.values()),
            "common": _common(watcher, state) if len(watcher.states) > 1 else (),
            **watcher.scaling.facts(state.key),
        }
        if watcher.sampling:
            state.copy_weights()
        known = partial(watcher.twins.before_step, state.key, state.parameters(), watcher.trace.steps)
        watcher.find_out("Twin", known)


def _enter_step(watcher: Watcher, state: OptimiserState) -> None:
    """Note the optimisers whose steps call that of another one: wrappers such as SAM."""
    if state.key in watcher.stepping:  # its last step has failed
        del watcher.stepping[watcher.stepping.index(state.key) :]
    for other in watcher.states.values():
        other.wraps = other.wraps or other.key in watcher.stepping
    watcher.stepping.append(state.key)


def _common(watcher: Watcher, state: OptimiserState) -> tuple[int, ...]:
    """The parameters with a gradient that another optimiser holds too."""
    if not watcher.sampling and state.steps > 20:
        return ()
    others = {id(p) for other in watcher.states.values() if other is not state for p in other.parameters()}
    return tuple(
        watcher.networks.keys.of(p) for p in state.parameters() if id(p) in others and has_gradient(p)
    )


def after_step(watcher: Watcher, optimiser: Optimizer) -> None:
    """An optimiser has stepped."""
    with watcher.looking():
        state = watcher.states[optimiser]
        if state.key in watcher.stepping:
            watcher.stepping.remove(state.key)
        if state.is_partial:
            state.after_step()
            return
        for parameter in state.parameters()[:1]:
            watcher.after_last_step[watcher.networks.keys.of(parameter)] = first_values(parameter)
        ratios = state.update_ratios() if state.copies else None
        state.after_step()
        watcher.find_out(
            "Twin", partial(watcher.twins.after_step, state.key, watcher.trace.steps, watcher.sampling)
        )
        watcher.scaling.forget(state.key)
        if state.watched <= 3 or watcher.sampling:
            for parameter in state.parameters():
                if parameter.grad is not None:
                    watcher.networks.add_parameter(parameter).reached = True
        known, watcher.pending = watcher.pending, {}  # empty if a step inside this one has taken it
        now = watcher.now(known.pop("where", ""))
        watcher.note(checks.Step(**now, **state.facts(), **known, update_ratios=ratios))


def count_step(watcher: Watcher, optimiser: Optimizer) -> None:
    """A step has been made, whether it could be watched or not."""
    watcher.trace.steps += 1
    watcher.trace.watched += watcher.watching
    state = watcher.states.get(optimiser)
    if state is not None:
        state.steps += not watcher.watching
        watcher.trace.made[state.key] = state.steps
    if watcher.trace.steps >= watcher.until:
        watcher.find_out("Step", partial(watcher.choose, optimiser))
    if watcher.limit is not None and watcher.trace.steps >= watcher.limit:
        watcher.trace.ended = False
        raise Enough


def scheduler_built(watcher: Watcher, scheduler: Any) -> None:
    """A scheduler was built."""
    watcher.schedules[scheduler] = user_code.where()


def scheduler_step(watcher: Watcher, scheduler: Any, failed: bool = False) -> None:
    """A scheduler has stepped, or refused to: note the learning rate that it has set."""
    with watcher.looking():
        optimiser = getattr(scheduler, "optimizer", None)
        state = watcher.states.get(optimiser) if isinstance(optimiser, Optimizer) else None
        facts = {**scheduler_facts(scheduler, state), "built": watcher.schedules.get(scheduler, "")}
        watcher.note(checks.SchedulerStep(**watcher.now(), **facts, failed=failed))
