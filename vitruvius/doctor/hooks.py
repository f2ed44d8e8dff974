"""Hooks into torch while a block runs: modules, losses, backward, optimisers, schedulers, zero_grad."""

import functools
import math
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType, ModuleType
from typing import Any

import torch
from torch import nn
from torch.compiler import is_compiling
from torch.nn import functional
from torch.nn.modules import module as modules
from torch.nn.modules.dropout import _DropoutNd
from torch.optim import Optimizer, lr_scheduler, optimizer
from torch.overrides import has_torch_function

from vitruvius.checks import (
    Argmax,
    Attention,
    AutogradGrad,
    Backward,
    BatchNormFailed,
    Criterion,
    CriterionFailed,
    DropoutInEval,
    DropsEverything,
    Forward,
    Gradients,
    GradientsDropped,
    GraphsKept,
    InplaceChange,
    Mask,
    NanSource,
    NonFinite,
    OptimiserBuilt,
    Restarted,
    SchedulerStep,
    StateCarried,
    Step,
    Twin,
    ZeroGrad,
)
from vitruvius.doctor import (
    backward_passes,
    calls,
    clipping,
    criteria,
    failures,
    forward_passes,
    hook_warnings,
    loader_hooks,
    steps,
    user_code,
)
from vitruvius.doctor.graphs_kept import nodes_below
from vitruvius.doctor.passes import MODAL
from vitruvius.doctor.rewiring import as_torchs_own, rewired
from vitruvius.doctor.switching import Switch, swap
from vitruvius.doctor.telling import tell as _tell
from vitruvius.doctor.watcher import Watcher

CRITERIA = (
    *("cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div"),
    *("binary_cross_entropy", "binary_cross_entropy_with_logits", "poisson_nll_loss", "gaussian_nll_loss"),
)
BACKWARD = (Backward, NonFinite, Gradients, GradientsDropped, GraphsKept)  # what a backward pass may tell
CALLER = 2  # frames between a replacement and who called the original
FURTHER = {"cross_entropy": ("weight",), "nll_loss": ("weight",)}
"""Names of the arguments that follow the target by position, where one matters."""
DROPOUTS = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout")


@contextmanager
def installed(watcher: Watcher) -> Iterator[None]:
    """Report what torch does inside the block to the watcher; afterwards torch is as it was."""
    with ExitStack() as stack:
        stack.enter_context(hook_warnings.as_without_hooks(watcher))
        for handle in _step_hooks(watcher):
            stack.callback(handle.remove)
        swaps = [
            swap(owner, name, _replaced(owner, name, replacement, watcher))
            for owner, name, replacement in _replacements()
        ]
        for each in swaps:
            each.put()
            stack.callback(each.take)
        methods = [each for each in swaps if isinstance(each.owner, type) and each.call.needs]
        losses = [getattr(functional, name) for name in CRITERIA]
        losses = [stack.enter_context(rewired(loss, _criterion, watcher)) for loss in losses]
        switch = Switch(functools.partial(_pass_hooks, watcher), methods, losses)
        stack.callback(switch.remove)
        watcher.switch = switch.set
        watcher.switch(watcher.watching, watcher.watching, watcher.sampling)
        functions = [(each.original, each.call) for each in swaps if isinstance(each.owner, ModuleType)]
        _exchange_imported(dict(functions))
        stack.callback(_exchange_imported, {call: original for original, call in functions})
        _ACTIVE.append(watcher)
        stack.callback(_ACTIVE.remove, watcher)
        yield


_ACTIVE: list[Watcher] = []


def silence() -> None:
    """Silence the watchers that a child process has inherited by fork."""
    for watcher in _ACTIVE:
        watcher.busy = True


def _exchange_imported(exchanged: dict[Any, Any]) -> None:
    """Exchange functions that modules outside torch hold by `from torch.nn.functional import ...`."""
    wanted = {id(old): new for old, new in exchanged.items()}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "torch" or not isinstance(module, ModuleType):
            continue
        held = dict(vars(module))
        if wanted.keys().isdisjoint(map(id, held.values())):  # no loop in Python over 60,000 names
            continue
        for attribute, value in held.items():
            if id(value) in wanted:
                setattr(module, attribute, wanted[id(value)])


def _replaced(owner: Any, name: str, replacement: Any, watcher: Watcher) -> Any:
    """A function or method that calls the replacement with the watcher, the original and its arguments."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def in_place(*args: Any, **kwargs: Any) -> Any:
        # A subclass of Tensor may compare the function that it is handed with torch's own.
        setattr(owner, name, original)
        try:
            return original(*args, **kwargs)
        finally:
            setattr(owner, name, call)

    needs = "sampling" if replacement in calls.SAMPLED else WANTED.get(replacement, "")

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        # First: the compiled program holds torch's own function, whatever is watched while it is compiled.
        if is_compiling() or watcher.quiet or watcher.busy or (needs and not getattr(watcher, needs)):
            return original(*args, **kwargs)
        own = in_place if has_torch_function(args) else original
        return replacement(watcher, own, *args, **kwargs)

    # torch's own function, also where one watcher is installed inside another
    call.original = getattr(original, "original", original)  # type: ignore[attr-defined]
    call.needs = needs  # type: ignore[attr-defined]
    return call


def _pass_hooks(watcher: Watcher) -> list[Any]:
    stack = watcher.stack

    def enters(module: nn.Module, args: Any) -> None:
        if is_compiling():  # no part of the compiled program
            return
        watcher.quiet = False  # a step that has failed leaves it
        inside = stack and not watcher.busy  # another one, which was told
        if inside or not (watcher.watching or watcher.busy or watcher.sees(module)):
            stack.append(module)
        else:
            _tell(watcher, (Forward,), forward_passes.enters, watcher, module)

    def leaves(module: nn.Module, args: Any, *rest: Any) -> None:
        if is_compiling():
            return
        is_last = bool(stack) and stack[-1] is module and len(rest) == 2 and not watcher.busy
        inner = is_last and len(stack) > 1 and not watcher.sampling and not isinstance(module, MODAL)
        if inner or (is_last and not watcher.seeing):
            stack.pop()
        elif len(rest) < 2:  # the forward pass has raised an error: torch then gives no keyword arguments
            _tell(watcher, (BatchNormFailed,), failures.batch_norm_failed, watcher, module, args)
            _tell(watcher, (Forward,), forward_passes.fails, watcher, module)
        else:
            _tell(watcher, (Forward,), forward_passes.leaves, watcher, module, args, rest[0])
            if not stack and not forward_passes.is_known(watcher):
                told = (watcher, module, (args, rest[0]), rest[1])
                _tell(watcher, (GraphsKept, StateCarried), forward_passes.network_returned, *told)

    return [
        modules.register_module_forward_pre_hook(enters),
        modules.register_module_forward_hook(leaves, with_kwargs=True, always_call=True),
    ]


def _step_hooks(watcher: Watcher) -> list[Any]:
    def before(optimiser: Optimizer, args: Any, kwargs: Any) -> None:
        given = args[1:] if args and args[0] is optimiser else args
        closure = kwargs.get("closure") or next(iter(given), None)
        if watcher.watching or optimiser not in watcher.states:
            _tell(watcher, (Step,), steps.before_step, watcher, optimiser, closure is not None)
        watcher.quiet = closure is None and type(optimiser).__module__.startswith("torch.")

    def after(optimiser: Optimizer, args: Any, kwargs: Any) -> None:
        watcher.quiet = False
        if watcher.stepping:
            _tell(watcher, (Step,), steps.after_step, watcher, optimiser)
        if not watcher.busy:  # else silenced in a child process, which has a watcher of its own
            steps.count_step(watcher, optimiser)

    return [
        optimizer.register_optimizer_step_pre_hook(before),
        optimizer.register_optimizer_step_post_hook(after),
    ]


def _replacements() -> list[tuple[Any, str, Any]]:
    found: list[tuple[Any, str, Any]] = [
        (torch.autograd, "backward", _backward),
        (torch.autograd, "grad", _grad),
        (Optimizer, "__init__", _optimiser_init),
        (Optimizer, "zero_grad", _zero_grad),
        (nn.Module, "zero_grad", _zero_grad),
        (nn.Module, "load_state_dict", _load_state_dict),
        (torch, "argmax", _argmax),
        (torch.Tensor, "argmax", _argmax),
        (functional, "scaled_dot_product_attention", _attention),
        (torch.jit, "script", _scripted),
        (torch.inference_mode, "__enter__", _evaluates),
        (torch.set_grad_enabled, "__init__", _evaluates),  # torch.no_grad calls it too
        (nn.Module, "eval", _evaluates),
    ]
    found += [(functional, name, _dropout) for name in DROPOUTS]
    found += clipping.replacements() + loader_hooks.replacements()
    for kind in (lr_scheduler.LRScheduler, *_descendants(lr_scheduler.LRScheduler)):
        methods = (("step", _scheduler_step), ("__init__", _scheduler_built))
        found += [(kind, name, replacement) for name, replacement in methods if name in vars(kind)]
    return found + calls.replacements()


def _descendants(kind: type[Any]) -> list[type[Any]]:
    children: list[type[Any]] = kind.__subclasses__()
    return [found for child in children for found in (child, *_descendants(child))]


def _scripted(watcher: Watcher, original: Any, *args: Any, **kwargs: Any) -> Any:
    """Compile with torch's own functions in place: a hook is no TorchScript."""
    found = [(owner, name, getattr(owner, name)) for owner, name, _ in _replacements()]
    swaps = [swapped for swapped in found if hasattr(swapped[2], "original")]  # not if an inner watcher has
    for owner, name, call in swaps:
        setattr(owner, name, call.original)
    functions = [call for owner, _, call in swaps if isinstance(owner, ModuleType)]
    _exchange_imported({call: call.original for call in functions})
    if len(args) < 3:  # names in a class are looked for in the frame that many above
        kwargs["_frames_up"] = kwargs.get("_frames_up", 0) + CALLER
    try:
        with as_torchs_own():
            return original(*args, **kwargs)
    finally:
        for owner, name, call in swaps:
            setattr(owner, name, call)
        _exchange_imported({call.original: call for call in functions})


def _evaluates(watcher: Watcher, original: Any, *args: Any, **kwargs: Any) -> Any:
    # Not where gradients are switched on again, inside a network, or in every step, as updates by hand do.
    if args[-1] is not True and not watcher.stack and watcher.is_seldom(sys._getframe(CALLER)):
        _tell(watcher, (Forward,), watcher.may_evaluate)
    return original(*args, **kwargs)


def _backward(watcher: Watcher, original: Any, tensors: Any, *args: Any, **kwargs: Any) -> Any:
    root = tensors
    if not isinstance(tensors, torch.Tensor):
        tensors = tuple(tensors)
        root = next(iter(tensors), None)
    event, watched = None, watcher.watching
    if watched and isinstance(root, torch.Tensor):
        event = _tell(watcher, BACKWARD, backward_passes.before_backward, watcher, root)
    elif isinstance(root, torch.Tensor) and not _is_finite(root):
        _tell(watcher, BACKWARD, backward_passes.check_loss, watcher, root)
    try:
        value = original(tensors, *args, **kwargs)
    except RuntimeError as error:
        _tell(watcher, (InplaceChange,), failures.backward_failed, watcher, error)
        _tell(watcher, (StateCarried,), failures.carried_state, watcher, error)
        raise
    if event is not None:
        _tell(watcher, (Gradients, Step, NanSource), backward_passes.after_backward, watcher, event)
    elif not watched and backward_passes.count_unwatched(watcher):
        _tell(watcher, (NanSource,), backward_passes.pass_backward, watcher)
    return value


def _is_finite(loss: torch.Tensor) -> bool:
    """Whether a loss is known to be a finite number; to read it from a GPU would make the training wait."""
    try:
        return loss.is_cpu and loss.numel() == 1 and math.isfinite(loss.item())
    except Exception:  # a tensor without numbers, or with complex ones
        return False


def _grad(watcher: Watcher, original: Any, outputs: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
    inputs = inputs if isinstance(inputs, torch.Tensor) else tuple(inputs)
    if watcher.sampling:
        asked = (inputs,) if isinstance(inputs, torch.Tensor) else inputs
        _tell(watcher, (AutogradGrad,), _note_grad, watcher, asked, outputs)
    event, watched = None, watcher.watching
    trains = not watcher.optimisers and not watcher.stack and _is_training(outputs, inputs, *args, **kwargs)
    if trains and watched:
        event = _tell(watcher, BACKWARD, backward_passes.before_backward, watcher, outputs)
    value = original(outputs, inputs, *args, **kwargs)
    if event is not None:
        _tell(watcher, (Gradients, Step, NanSource), backward_passes.after_backward, watcher, event)
    elif trains and not watched and backward_passes.count_unwatched(watcher):
        _tell(watcher, (NanSource,), backward_passes.pass_backward, watcher)
    return value


def _is_training(outputs: Any, inputs: Any, *args: Any, **kwargs: Any) -> bool:
    """Whether derivatives of one number for weights are asked, as a training without an optimiser does."""
    if not isinstance(outputs, torch.Tensor) or outputs.dim() or kwargs.get("create_graph") or args[2:]:
        return False
    asked = (inputs,) if isinstance(inputs, torch.Tensor) else inputs
    return len(asked) > 1 and all(isinstance(x, torch.Tensor) and x.is_leaf for x in asked)


def _note_grad(watcher: Watcher, inputs: tuple[torch.Tensor, ...], outputs: Any) -> None:
    with watcher.looking():
        for output in [outputs] if isinstance(outputs, torch.Tensor) else list(outputs):
            watcher.graphs.used_by(nodes_below(output))
    keys = tuple(map(watcher.networks.keys.of, inputs))
    watcher.note(AutogradGrad(**watcher.now(), inputs=keys))


def _optimiser_init(watcher: Watcher, original: Any, self: Optimizer, *args: Any, **kwargs: Any) -> None:
    original(self, *args, **kwargs)
    _tell(watcher, (OptimiserBuilt, Restarted), steps.optimiser_built, watcher, self)


def _zero_grad(watcher: Watcher, original: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    _tell(watcher, (ZeroGrad, GradientsDropped, Step), steps.zero_grad, watcher, self)
    return original(self, *args, **kwargs)


def _load_state_dict(watcher: Watcher, original: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    value = original(self, *args, **kwargs)
    _tell(watcher, (Twin,), steps.weights_loaded, watcher, self)
    return value


def _criterion(watcher: Watcher, original: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        value = original(*args, **kwargs)
    except (RuntimeError, ValueError, IndexError) as error:
        given = (original.__name__, error, *args)
        _tell(watcher, (CriterionFailed,), failures.criterion_failed, watcher, *given, **kwargs)
        raise
    _tell(watcher, (Criterion,), _note_criterion, watcher, original.__name__, value, *args, **kwargs)
    return value


def _note_criterion(
    watcher: Watcher, name: str, value: Any, input: Any, target: Any, *args: Any, **kwargs: Any
) -> None:
    if isinstance(value, torch.Tensor) and isinstance(input, torch.Tensor):
        given = {**dict(zip(FURTHER.get(name, ()), args, strict=False)), **kwargs}
        criteria.criterion_returned(
            watcher, name, input, target, value, kwargs.get("reduction", "mean"), given
        )


def _dropout(watcher: Watcher, original: Any, *args: Any, **kwargs: Any) -> Any:
    if not watcher.sampling and torch.is_grad_enabled() and watcher.stack and watcher.stack[0].training:
        return original(*args, **kwargs)
    given = dict(zip(("input", "p", "training"), args, strict=False)) | kwargs
    p, active = given.get("p", 0.5), given.get("training", original.__name__ != "alpha_dropout")
    frame = sys._getframe(CALLER)
    _tell(watcher, (DropoutInEval,), _note_dropout, watcher, p, active, frame)
    value = original(*args, **kwargs)
    if active and p > 0 and watcher.sampling and torch.is_grad_enabled():
        _tell(watcher, (DropsEverything,), _note_dropped, watcher, p, value, frame)
    return value


def _note_dropped(watcher: Watcher, p: float, value: Any, frame: FrameType) -> None:
    """Note that dropout made a tensor, and one that drops everything."""
    calls.mark(watcher, "dropout", value, frame)
    if p >= 1:
        module = watcher.path_of(calls.running(watcher))
        watcher.note(DropsEverything(**watcher.now(), module=module))


def _note_dropout(watcher: Watcher, p: float, active: bool, caller: FrameType) -> None:
    """Note dropout that is active in a user's module in eval mode; otherwise note the module's mode."""
    if p <= 0:
        return
    owner = _running_module(caller)
    layer = caller.f_locals.get("self")
    if owner is None or (isinstance(layer, _DropoutNd) and layer in owner.modules()):
        return  # a registered Dropout has its own mode, which may be set on purpose
    if active and not owner.training:
        watcher.note(DropoutInEval(**watcher.now(), p=p))
    elif user_code.is_users(caller.f_code.co_filename):
        if active:
            watcher.running.training = watcher.running.training or owner
        else:
            watcher.running.eval = watcher.running.eval or owner


def _running_module(frame: FrameType | None) -> nn.Module | None:
    """The innermost module of the user's code that is running."""
    while frame is not None:
        code = frame.f_code
        if user_code.is_users(code.co_filename) and code.co_argcount:
            first = frame.f_locals.get(code.co_varnames[0])  # `self`, if this is one of its methods
            if isinstance(first, nn.Module) and hasattr(type(first), code.co_name):
                return first
        frame = frame.f_back
    return None


def _argmax(watcher: Watcher, original: Any, *args: Any, **kwargs: Any) -> Any:
    calls.predicts(watcher, sys._getframe(CALLER), *args, **kwargs)
    if torch.is_grad_enabled() and watcher.sampling:
        _tell(watcher, (Argmax,), _note_argmax, watcher, *args, **kwargs)
    return original(*args, **kwargs)


def _note_argmax(watcher: Watcher, input: torch.Tensor, *args: Any, **kwargs: Any) -> None:
    if input.requires_grad:
        watcher.note(Argmax(**watcher.now()))


def _attention(watcher: Watcher, original: Any, *args: Any, **kwargs: Any) -> Any:
    _tell(
        watcher, (DropoutInEval, Attention), _note_attention, watcher, sys._getframe(CALLER), *args, **kwargs
    )
    return original(*args, **kwargs)


def _note_attention(
    watcher: Watcher, caller: FrameType, query: torch.Tensor, *args: Any, **kwargs: Any
) -> None:
    dropped = kwargs.get("dropout_p", args[3] if len(args) > 3 else 0.0)
    _note_dropout(watcher, dropped, True, caller)
    if watcher.sampling:
        direct = user_code.is_users(caller.f_code.co_filename)
        facts = {"dim": query.dim(), "dropout": dropped, "direct": direct, "device": query.device.type}
        watcher.note(Attention(**watcher.now(), **facts))
        mask = kwargs.get("attn_mask", args[2] if len(args) > 2 else None)
        _tell(watcher, (Mask,), calls.note_attention_mask, watcher, mask, caller)


WANTED: dict[Any, str] = {
    **dict.fromkeys((_dropout, _argmax, _attention, *calls.SEEN), "seeing"),
    **dict.fromkeys((_zero_grad, *clipping.WATCHED, *loader_hooks.WATCHED), "watching"),
}
"""The flag of the watcher without which a replacement does nothing: the pass is seen, the step is watched."""
_STEPPING: list[Any] = []  # schedulers whose step or constructor is running


def _scheduler_init(watcher: Watcher, original: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    _STEPPING.append(self)
    try:
        return original(self, *args, **kwargs)
    finally:
        _STEPPING.pop()


def _scheduler_built(watcher: Watcher, original: Any, self: Any, *args: Any, **kwargs: Any) -> None:
    _scheduler_init(watcher, original, self, *args, **kwargs)
    if not _STEPPING:
        _tell(watcher, (SchedulerStep,), steps.scheduler_built, watcher, self)


def _scheduler_step(watcher: Watcher, original: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        value = _scheduler_init(watcher, original, self, *args, **kwargs)
    except ValueError:
        _tell(watcher, (SchedulerStep,), steps.scheduler_step, watcher, self, True)
        raise
    if not _STEPPING:  # else called by another scheduler, or by its constructor
        _tell(watcher, (SchedulerStep,), steps.scheduler_step, watcher, self)
    return value
