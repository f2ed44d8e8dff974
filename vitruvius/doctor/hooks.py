"""Hooks into torch for as long as a block lasts: optimisers, backward, modules, criteria, schedulers, zeroing."""

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.nn.modules import module as modules
from torch.nn.modules.dropout import _DropoutNd
from torch.optim import Optimizer, lr_scheduler, optimizer

from vitruvius.doctor import user_code as tracing
from vitruvius.doctor.watcher import Watcher

CRITERIA: tuple[str, ...] = (
    "cross_entropy",
    "nll_loss",
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
)
CRITERIA += (
    "kl_div",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "poisson_nll_loss",
    "gaussian_nll_loss",
)
DROPOUTS = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout")


@contextmanager
def installed(watcher: Watcher) -> Iterator[None]:
    """Everything torch does inside the block is told to the watcher; afterwards torch is as it was."""
    with ExitStack() as stack:
        # torch forgets this entry when the handle is removed, and then takes the process for a hooked one for ever.
        stack.callback(modules._global_forward_hooks_with_kwargs.clear)
        for handle in _hooks(watcher):
            stack.callback(handle.remove)
        for owner, name, replacement in _replacements(watcher):
            original = getattr(owner, name)
            setattr(owner, name, functools.wraps(original)(replacement(original)))
            stack.callback(setattr, owner, name, original)
        yield


def _hooks(watcher: Watcher) -> list[Any]:
    def enters(module: nn.Module, args: Any) -> None:
        if not watcher.busy:
            watcher.enters(module, args)

    def leaves(module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        if not watcher.busy:
            watcher.leaves(module, args, kwargs, output)

    def before(optimiser: Optimizer, args: Any, kwargs: Any) -> None:
        closure = kwargs.get("closure") or next(
            iter(args[1:] if args and args[0] is optimiser else args), None
        )
        watcher.before_step(optimiser, closure is not None)

    def after(optimiser: Optimizer, args: Any, kwargs: Any) -> None:
        watcher.after_step(optimiser)

    return [
        modules.register_module_forward_pre_hook(enters),
        modules.register_module_forward_hook(leaves, with_kwargs=True, always_call=True),
        optimizer.register_optimizer_step_pre_hook(before),
        optimizer.register_optimizer_step_post_hook(after),
    ]


Replacement = tuple[Any, str, Callable[[Any], Any]]


def _replacements(watcher: Watcher) -> list[Replacement]:
    found: list[Replacement] = [
        (torch.autograd, "backward", lambda original: _backward(watcher, original)),
        (torch.autograd, "grad", lambda original: _asked(watcher, original)),
        (Optimizer, "__init__", lambda original: _built(watcher, original)),
        (Optimizer, "zero_grad", lambda original: _zeroed(watcher, original)),
        (nn.Module, "zero_grad", lambda original: _zeroed(watcher, original)),
        (torch, "argmax", lambda original: _chosen(watcher, original)),
        (torch.Tensor, "argmax", lambda original: _chosen(watcher, original)),
        (functional, "scaled_dot_product_attention", lambda original: _attention(watcher, original)),
    ]
    found += [(functional, name, functools.partial(_judged, watcher, name)) for name in CRITERIA]
    found += [(functional, name, lambda original: _dropped_out(watcher, original)) for name in DROPOUTS]
    kinds = [lr_scheduler.LRScheduler, *_descendants(lr_scheduler.LRScheduler)]
    for kind in kinds:
        if "step" in vars(kind):
            found.append((kind, "step", lambda original: _scheduled(watcher, original)))
        if "__init__" in vars(kind):
            found.append((kind, "__init__", lambda original: _quietly(original)))
    return found


def _descendants(kind: type[Any]) -> list[type[Any]]:
    children: list[type[Any]] = kind.__subclasses__()
    return [found for child in children for found in (child, *_descendants(child))]


def _backward(watcher: Watcher, original: Any) -> Any:
    def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
        root = tensors if isinstance(tensors, torch.Tensor) else next(iter(tensors), None)
        if watcher.busy or not isinstance(root, torch.Tensor):
            return original(tensors, *args, **kwargs)
        watcher.before_backward(root)
        value = original(tensors, *args, **kwargs)
        watcher.after_backward()
        return value

    return backward


def _asked(watcher: Watcher, original: Any) -> Any:
    def grad(outputs: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        if not watcher.busy and watcher.sampling:
            of = (inputs,) if isinstance(inputs, torch.Tensor) else tuple(inputs)
            watcher.note("asked", keys=tuple(map(id, of)))
            return original(outputs, of, *args, **kwargs)
        return original(outputs, inputs, *args, **kwargs)

    return grad


def _built(watcher: Watcher, original: Any) -> Any:
    def init(self: Optimizer, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        watcher.built(self)

    return init


def _zeroed(watcher: Watcher, original: Any) -> Any:
    def zero_grad(self: Any, *args: Any, **kwargs: Any) -> Any:
        watcher.zeroed(self)
        return original(self, *args, **kwargs)

    return zero_grad


def _judged(watcher: Watcher, name: str, original: Any) -> Any:
    def criterion(input: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
        value = original(input, target, *args, **kwargs)
        if not watcher.busy and isinstance(value, torch.Tensor) and isinstance(input, torch.Tensor):
            watcher.judged(name, input, target, value, kwargs.get("reduction", "mean"))
        return value

    return criterion


def _dropped_out(watcher: Watcher, original: Any) -> Any:
    def dropout(input: Any, p: float = 0.5, training: bool = True, *args: Any, **kwargs: Any) -> Any:
        if not watcher.busy and p > 0:
            _note_dropout(watcher, p, training, sys._getframe(1))
        return original(input, p, training, *args, **kwargs)

    return dropout


def _note_dropout(watcher: Watcher, p: float, active: bool, caller: FrameType) -> None:
    """Take note if dropout drops inside a user's module in eval mode; otherwise that module is noisy or at rest."""
    owner = _asking(caller)
    layer = caller.f_locals.get("self")
    if owner is None or (isinstance(layer, _DropoutNd) and layer in owner.modules()):
        return  # a registered Dropout has its own switch, which somebody may have turned on for a purpose
    if active and not owner.training:
        watcher.note("dropout", p=p)
    elif tracing.is_users(caller.f_code.co_filename):
        switch = "noisy" if active else "resting"
        setattr(watcher, switch, getattr(watcher, switch) or owner)


def _asking(frame: FrameType | None) -> nn.Module | None:
    """The innermost module of the user's code that is running."""
    while frame is not None:
        code = frame.f_code
        if tracing.is_users(code.co_filename) and code.co_argcount:
            first = frame.f_locals.get(code.co_varnames[0])  # `self`, if this is one of its methods
            if isinstance(first, nn.Module) and hasattr(type(first), code.co_name):
                return first
        frame = frame.f_back
    return None


def _chosen(watcher: Watcher, original: Any) -> Any:
    def argmax(input: Any, *args: Any, **kwargs: Any) -> Any:
        if not watcher.busy and watcher.sampling and torch.is_grad_enabled() and input.requires_grad:
            watcher.note("argmax")
        return original(input, *args, **kwargs)

    return argmax


def _attention(watcher: Watcher, original: Any) -> Any:
    def attention(query: Any, key: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
        dropped = kwargs.get("dropout_p", args[1] if len(args) > 1 else 0.0)
        if not watcher.busy and dropped > 0:
            _note_dropout(watcher, dropped, True, sys._getframe(1))
        if not watcher.busy and watcher.sampling:
            direct = tracing.is_users(sys._getframe(1).f_code.co_filename)
            watcher.note(
                "attention", rank=query.dim(), dropout=dropped, direct=direct, device=query.device.type
            )
        return original(query, key, value, *args, **kwargs)

    return attention


_INSIDE: list[Any] = []


def _scheduled(watcher: Watcher, original: Any) -> Any:
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _INSIDE:  # a scheduler of schedulers, or the first step a constructor makes
            return original(self, *args, **kwargs)
        _INSIDE.append(self)
        try:
            return watcher.scheduled(self, lambda: original(self, *args, **kwargs))
        finally:
            _INSIDE.pop()

    return step


def _quietly(original: Any) -> Any:
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        _INSIDE.append(self)
        try:
            original(self, *args, **kwargs)
        finally:
            _INSIDE.pop()

    return init
