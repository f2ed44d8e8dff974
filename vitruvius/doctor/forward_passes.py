"""Forward passes of networks: their inputs, modes, masks and graphs become events of the trace."""

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from vitruvius import checks
from vitruvius.checks import first_tensor, input_name
from vitruvius.doctor import user_code
from vitruvius.doctor.criteria import pair
from vitruvius.doctor.graphs_kept import is_recorded
from vitruvius.doctor.masks import hides_tokens, is_emptied
from vitruvius.doctor.passes import MODAL, LastForward, RunningModules
from vitruvius.doctor.rows import are_different
from vitruvius.doctor.tensor_facts import (
    NORMS,
    WEIGHTED,
    batch_size,
    detached,
    is_continuous,
    row_hashes,
    statistics,
    type_name,
    uses_float16,
)
from vitruvius.doctor.watcher import UNKNOWN, Watcher

FIRST_STEPS = 8  # in which the graphs of all passes are looked after


def enters(watcher: Watcher, module: nn.Module) -> None:
    """A module is about to run."""
    if not watcher.stack:
        watcher.running = RunningModules(watcher.is_network(module))
    watcher.stack.append(module)


def fails(watcher: Watcher, module: nn.Module) -> None:
    """A module has raised an error, as a checkpointed one does when enough is recomputed."""
    stack = watcher.stack
    if stack and stack[-1] is module:
        stack.pop()
    elif any(running is module for running in stack):
        while stack.pop() is not module:
            pass


def leaves(watcher: Watcher, module: nn.Module, args: Any, kwargs: Any) -> None:
    """A module has run."""
    fails(watcher, module)
    if isinstance(module, MODAL):
        watcher.running.note_mode(module)
    if watcher.sampling:
        watcher.networks.called.add(watcher.networks.keys.of(module))
        first = watcher.running.first_input is None and isinstance(module, WEIGHTED + NORMS)
        if first and torch.is_grad_enabled():
            with watcher.looking():
                find = partial(statistics, module, args)
                watcher.running.first_input = watcher.find_out("Forward.first_input", find)
                watcher.running.first_layer = module
    if watcher.stack:
        return
    grad, compared, frame = torch.is_grad_enabled(), watcher.running.compared, user_code.user_frame()
    watcher.running.where = user_code.line_of(frame)
    is_network = watcher.running.inside_network or watcher.is_network(module)
    is_looked_at = is_network and not _skips(watcher, module, grad)
    if not is_looked_at and not compared:
        return
    with watcher.looking():
        if is_looked_at:
            _network_ran(watcher, module, args, kwargs, grad, user_code.function_name(frame))
        for found in compared:
            pair(watcher, found, watcher.running.where)
    watcher.running.compared = []


def _skips(watcher: Watcher, module: nn.Module, grad: bool) -> bool:
    """Whether a pass is like one that was looked at: in training, again before the backward pass."""
    key = (watcher.running.where, watcher.networks.keys.of(module), module.training)
    watcher.is_skipped = (
        grad and not watcher.sampling and key in watcher.passed and key in watcher.graphs.used
    )
    if grad:  # an evaluation at the same line is none of the passes before a backward pass
        watcher.passed.add(key)
    return watcher.is_skipped


def _network_ran(
    watcher: Watcher, model: nn.Module, args: Any, kwargs: Any, grad: bool, function: str
) -> None:
    last, watcher.last = watcher.last, LastForward()  # if this fails, nothing is paired with an earlier pass
    network = watcher.networks.add(model)
    x = first_tensor((args, kwargs.get(input_name(kwargs)), kwargs))
    hashes = watcher.find_out("Forward.batch", partial(row_hashes, x))
    is_known = hashes is not UNKNOWN
    # Folds and ensembles share rows, but each network has its own training rows.
    rows = [hash((network, row)) for row in hashes] if is_known else []
    batch = hash(tuple(hashes)) if is_known else 0
    example = watcher.networks.examples.get(network)
    if grad and example is None and x is not None:
        watcher.networks.add_example(model, args, kwargs)
    elif grad and example is not None and batch != last.batch:
        example.batches = min(example.batches + 1, 9)
    running, path = watcher.running, watcher.networks.path
    where = running.where
    recomputes = bool(running.training) and not grad and user_code.is_called_by("swa_utils")
    continuous = not grad and watcher.find_out("Forward.continuous", partial(is_continuous, x))
    known = list(map(watcher.rows.trained.__contains__, rows))
    trained = sum(known)
    if grad:
        watcher.rows.recent.append((trained, len(rows)))
    elif watcher.trace.gap and not watcher.rows.is_complete():
        trained = 0  # of a training set that was not watched whole some rows would be known
    if trained and x is not None and continuous is not True and not are_different(rows, x):
        trained = 0
    facts = {"batch": batch, "rows": len(rows), "trained_rows": trained}
    if not is_known:
        facts = dict.fromkeys(facts, UNKNOWN)
        for fact in facts:
            watcher.trace.unknown[f"Forward.{fact}"] = watcher.trace.unknown["Forward.batch"]
    watcher.note_known(
        checks.Forward,
        step=watcher.trace.steps,
        where=where,
        **facts,
        network=network,
        name=type(model).__name__,
        function=function,
        training=model.training,
        grad=grad,
        size=watcher.find_out("Forward.size", partial(batch_size, x)),
        epoch=watcher.loaders.epoch if watcher.loaders.last is not None else 0,
        single_input=len(args) + len(kwargs) == 1,
        training_module=path(running.training),
        eval_module=path(running.eval),
        batch_norm=path(running.batch_norm),
        updates_statistics=recomputes,
        first_input=None if x is not None and x.requires_grad else running.first_input,
        first_layer=path(running.first_layer),
        frozen_norm=path(running.frozen_norm),
        frozen_keys=_keys(watcher, running.frozen_norm),
        continuous=continuous,
        dtypes=(type_name(x), watcher.networks.dtype(network, model, watcher.sampling)),
    )
    _look_at_inputs(watcher, network, x if len(args) + len(kwargs) == 1 else None, grad, where, known)
    watcher.half = watcher.half or (x is not None and (x.dtype == torch.float16 or uses_float16(x)))
    if running.masks:
        watcher.find_out("Mask", partial(_judge_masks, watcher, (*args, *kwargs.values())))
    derived = x is not None and x.requires_grad
    # Detached: what a network was given must not keep the graph of an earlier one alive.
    x = None if x is None else x.detach()
    inputs, words = tuple(map(detached, args)), tuple(map(detached, kwargs.values()))
    watcher.last = LastForward(model, inputs, words, x, rows, batch, grad, network, where, derived)


def _keys(watcher: Watcher, module: nn.Module | None) -> tuple[int, ...]:
    return tuple(map(watcher.networks.keys.of, module.parameters())) if module is not None else ()


def _look_at_inputs(
    watcher: Watcher, network: int, x: Tensor | None, grad: bool, where: str, known: list[bool]
) -> None:
    facts = (network, where, x, grad, watcher.trace.steps, watcher.sampling, known, watcher.loaders.epoch)
    ran = partial(watcher.evaluations.network_ran, *facts)
    watcher.find_out("EvaluationInputs", ran)
    watcher.find_out("LoaderUsed", partial(watcher.loaders.network_ran, grad))


def is_known(watcher: Watcher) -> bool:
    """Whether the graph of the last pass needs no look: it is one of several like it in this step."""
    return watcher.is_skipped and watcher.position() >= FIRST_STEPS


def network_returned(watcher: Watcher, model: nn.Module, given: Any, output: Any) -> None:
    """A network has returned: look after the graph of its output."""
    if is_recorded() and watcher.is_network(model):
        key = (watcher.running.where, watcher.networks.keys.of(model), model.training)
        if key in watcher.graphs.used and not watcher.sampling and watcher.position() >= FIRST_STEPS:
            return  # a line that trains, looked at before
        with watcher.looking():
            watcher.graphs.network_ran(key, model, given, output, watcher.trace.steps, watcher.backwards)
            facts = watcher.carried.network_ran(model, given, output, watcher.loaders.shuffled)
            if facts:
                watcher.note(checks.StateCarried(**watcher.now(key[0]), network=key[1], **facts))


def note_inverted_mask(watcher: Watcher, argument: str, where: str, module: Any, **facts: Any) -> None:
    """Note a mask that looks inverted, once for each line."""
    if any(facts.values()) and (argument, where, *facts) not in watcher.known_masks:
        watcher.known_masks.add((argument, where, *facts))
        path = watcher.path_of(module)
        watcher.note(checks.Mask(**watcher.now(where), argument=argument, module=path, **facts))


def _judge_masks(watcher: Watcher, inputs: tuple[Any, ...]) -> None:
    """Compare what masks hide with the tokens that the network was given."""
    tokens = [x for x in inputs if isinstance(x, Tensor) and x.dim() in (2, 3) and x.dtype != torch.bool]
    for argument, where, module, hidden in watcher.running.masks:
        facts = {"hides_tokens": any(hides_tokens(hidden, x) for x in tokens), "emptied": is_emptied(hidden)}
        note_inverted_mask(watcher, argument, where, module, **facts)
