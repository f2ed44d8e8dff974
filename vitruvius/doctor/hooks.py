"""Hooks into torch while a block runs: modules, losses, backward, optimisers, schedulers, zero_grad."""

import functools
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.nn.modules import module as modules
from torch.nn.modules.dropout import _DropoutNd
from torch.optim import Optimizer, lr_scheduler, optimizer

from vitruvius.checks import Argmax, Attention, AutogradGrad, DropoutInEval
from vitruvius.doctor import user_code
from vitruvius.doctor.watcher import Watcher

CRITERIA = (
    *("cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div"),
    *("binary_cross_entropy", "binary_cross_entropy_with_logits", "poisson_nll_loss", "gaussian_nll_loss"),
)
CALLER = 2  # frames between a replacement and who called the original
DROPOUTS = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout")


@contextmanager
def installed(watcher: Watcher) -> Iterator[None]:
    """Report what torch does inside the block to the watcher; afterwards torch is as it was."""
    with ExitStack() as stack:
        # Removing the handle leaves this entry behind, and torch would believe that a hook exists.
        stack.callback(modules._global_forward_hooks_with_kwargs.clear)
        for handle in _hooks(watcher):
            stack.callback(handle.remove)
        for owner, name, replacement in _replacements():
            original = getattr(owner, name)
            setattr(owner, name, _replaced(original, replacement, watcher))
            stack.callback(setattr, owner, name, original)
        yield


def _replaced(original: Any, replacement: Any, watcher: Watcher) -> Any:
    """A function or method that calls the replacement with the watcher, the original and its arguments."""

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        return replacement(watcher, original, *args, **kwargs)

    return call


def _hooks(watcher: Watcher) -> list[Any]:
    def enters(module: nn.Module, args: Any) -> None:
        if not watcher.busy:
            watcher.enters(module)

    def leaves(module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        if not watcher.busy:
            watcher.leaves(module, args, kwargs)

    def before(optimiser: Optimizer, args: Any, kwargs: Any) -> None:
        given = args[1:] if args and args[0] is optimiser else args
        closure = kwargs.get("closure") or next(iter(given), None)
        watcher.before_step(optimiser, closure is not None)

    def after(optimiser: Optimizer, args: Any, kwargs: Any) -> None:
        watcher.after_step(optimiser)

    return [
        modules.register_module_forward_pre_hook(enters),
        modules.register_module_forward_hook(leaves, with_kwargs=True, always_call=True),
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
        (torch, "argmax", _argmax),
        (torch.Tensor, "argmax", _argmax),
        (functional, "scaled_dot_product_attention", _attention),
    ]
    found += [(functional, name, _criterion) for name in CRITERIA]
    found += [(functional, name, _dropout) for name in DROPOUTS]
    for kind in (lr_scheduler.LRScheduler, *_descendants(lr_scheduler.LRScheduler)):
        methods = (("step", _scheduler_step), ("__init__", _scheduler_init))
        found += [(kind, name, replacement) for name, replacement in methods if name in vars(kind)]
    return found


def _descendants(kind: type[Any]) -> list[type[Any]]:
    children: list[type[Any]] = kind.__subclasses__()
    return [found for child in children for found in (child, *_descendants(child))]


def _backward(watcher: Watcher, original: Any, tensors: Any, *args: Any, **kwargs: Any) -> Any:
    root = tensors if isinstance(tensors, torch.Tensor) else next(iter(tensors), None)
    if watcher.busy or not isinstance(root, torch.Tensor):
        return original(tensors, *args, **kwargs)
    event = watcher.before_backward(root)
    value = original(tensors, *args, **kwargs)
    watcher.after_backward(event)
    return value


def _grad(watcher: Watcher, original: Any, outputs: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
    if not watcher.busy and watcher.sampling:
        inputs = (inputs,) if isinstance(inputs, torch.Tensor) else tuple(inputs)
        watcher.note(AutogradGrad(**watcher.now(), inputs=tuple(map(id, inputs))))
    return original(outputs, inputs, *args, **kwargs)


def _optimiser_init(watcher: Watcher, original: Any, self: Optimizer, *args: Any, **kwargs: Any) -> None:
    original(self, *args, **kwargs)
    watcher.optimiser_built(self)


def _zero_grad(watcher: Watcher, original: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    watcher.zero_grad(self)
    return original(self, *args, **kwargs)


def _criterion(watcher: Watcher, original: Any, input: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
    value = original(input, target, *args, **kwargs)
    if not watcher.busy and isinstance(value, torch.Tensor) and isinstance(input, torch.Tensor):
        watcher.criterion(original.__name__, input, target, value, kwargs.get("reduction", "mean"))
    return value


def _dropout(
    watcher: Watcher, original: Any, input: Any, p: float = 0.5, training: bool = True, *rest: Any, **kw: Any
) -> Any:
    if not watcher.busy and p > 0:
        _note_dropout(watcher, p, training, sys._getframe(CALLER))
    return original(input, p, training, *rest, **kw)


def _note_dropout(watcher: Watcher, p: float, active: bool, caller: FrameType) -> None:
    """Note dropout that is active in a user's module in eval mode; otherwise note the module's mode."""
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


def _argmax(watcher: Watcher, original: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
    if not watcher.busy and watcher.sampling and torch.is_grad_enabled() and input.requires_grad:
        watcher.note(Argmax(**watcher.now()))
    return original(input, *args, **kwargs)


def _attention(watcher: Watcher, original: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
    dropped = kwargs.get("dropout_p", args[3] if len(args) > 3 else 0.0)
    caller = sys._getframe(CALLER)
    if not watcher.busy and dropped > 0:
        _note_dropout(watcher, dropped, True, caller)
    if not watcher.busy and watcher.sampling:
        direct = user_code.is_users(caller.f_code.co_filename)
        facts = {"dim": query.dim(), "dropout": dropped, "direct": direct, "device": query.device.type}
        watcher.note(Attention(**watcher.now(), **facts))
    return original(query, *args, **kwargs)


_STEPPING: list[Any] = []  # schedulers whose step or constructor is running


def _scheduler_init(watcher: Watcher, original: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    _STEPPING.append(self)
    try:
        return original(self, *args, **kwargs)
    finally:
        _STEPPING.pop()


def _scheduler_step(watcher: Watcher, original: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    value = _scheduler_init(watcher, original, self, *args, **kwargs)
    if not _STEPPING:  # else called by another scheduler, or by its constructor
        watcher.scheduler_step(self)
    return value
