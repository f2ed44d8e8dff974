"""Clipped and scaled gradients: clip_grad_norm_, clip_grad_value_ and torch.amp.GradScaler."""

import weakref
from typing import Any

from torch import Tensor, nn
from torch.amp import grad_scaler
from torch.nn.utils import clip_grad

from vitruvius.checks import Clip, ScalerFailed, Step
from vitruvius.doctor.telling import tell
from vitruvius.doctor.watcher import Watcher


def replacements() -> list[tuple[Any, str, Any]]:
    """What is replaced while a block is watched."""
    scaler = grad_scaler.GradScaler
    methods = (("scale", _scale), ("unscale_", _unscale), ("step", _scaler_step))
    names = ("clip_grad_norm_", "clip_grad_value_")
    functions = [(owner, name, _clip) for owner in (nn.utils, clip_grad) for name in names]
    return [*functions, *[(scaler, name, call) for name, call in methods]]


def _clip(watcher: Watcher, original: Any, *args: Any, **kwargs: Any) -> Any:
    given = dict(zip(("parameters", "limit"), args, strict=False)) | kwargs
    parameters = given.get("parameters")
    if parameters is not None and not isinstance(parameters, Tensor):
        parameters = list(parameters)  # an iterator is read twice here
        if args:
            args = (parameters, *args[1:])
        else:
            kwargs["parameters"] = parameters
    largest = tell(watcher, (Clip,), _largest, watcher, parameters) if "value" in original.__name__ else None
    value = original(*args, **kwargs)
    limit = next((given[name] for name in ("limit", "max_norm", "clip_value") if name in given), None)
    if parameters is not None and limit is not None:
        norm = value if largest is None else largest
        tell(watcher, (Clip,), _note_clip, watcher, original.__name__, parameters, limit, norm)
    return value


def _largest(watcher: Watcher, parameters: Any) -> Any:
    """The largest magnitude among the gradients, before their values are clipped."""
    if not watcher.sampling:
        return None
    with watcher.looking():
        held = [parameters] if isinstance(parameters, Tensor) else parameters
        found = [p.grad.abs().max() for p in held if p.grad is not None and p.grad.numel()]
        return max(found, default=None)


def _note_clip(watcher: Watcher, name: str, parameters: Any, limit: Any, norm: Any) -> None:
    ids = set(map(id, [parameters] if isinstance(parameters, Tensor) else parameters))
    with watcher.looking():
        whole = [state for state in watcher.states.values() if not state.is_partial]
        states = [state for state in whole if ids & set(map(id, state.sampled()))]
        if not states:
            return
        norm = float(norm) if isinstance(norm, Tensor) and watcher.sampling else None
        event = Clip(
            **watcher.now(),
            name=name,
            optimisers=tuple(sorted(state.key for state in states)),
            limit=float(limit),
            norm=norm,
            scaled=min(watcher.scaling.left(state.key) for state in states),
            useless=all(state.backwards == 0 for state in states),
        )
        watcher.note(event)


def _scale(watcher: Watcher, original: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    value = original(self, *args, **kwargs)
    tell(watcher, (Step, Clip), _note_scale, watcher, self, value)
    return value


def _note_scale(watcher: Watcher, scaler: Any, value: Any) -> None:
    watcher.scaling.factor = _factor(scaler)
    watcher.scaling.output = weakref.ref(value) if isinstance(value, Tensor) else None


def _factor(scaler: Any) -> float:
    scale = scaler._scale if scaler.is_enabled() else None
    # Read without waiting for a GPU: the first scale stands for the later ones.
    return 1.0 if scale is None else float(scale) if scale.device.type == "cpu" else float(scaler._init_scale)


def _unscale(watcher: Watcher, original: Any, self: Any, optimiser: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        value = original(self, optimiser, *args, **kwargs)
    except RuntimeError as error:
        tell(watcher, (ScalerFailed,), _note_failure, watcher, error)
        raise
    tell(watcher, (Step, Clip), _note_unscale, watcher, self, optimiser)
    return value


def _note_unscale(watcher: Watcher, scaler: Any, optimiser: Any) -> None:
    state = watcher.states.get(optimiser)
    if state is not None and scaler.is_enabled():
        watcher.scaling.unscaled.add(state.key)


def _scaler_step(watcher: Watcher, original: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    watcher.scaling.stepping = tell(watcher, (Step,), _factor, self) or 0.0
    try:
        return original(self, *args, **kwargs)
    except (RuntimeError, AssertionError) as error:
        tell(watcher, (ScalerFailed,), _note_failure, watcher, error)
        raise
    finally:
        watcher.scaling.stepping = 0.0


WATCHED = (_clip, _scale, _unscale, _scaler_step)
"""Replacements that do nothing in steps that are not watched."""


def _note_failure(watcher: Watcher, error: Exception) -> None:
    text = str(error).partition("\n")[0]
    if "update()" in text or "unscale_" in text or "inf checks" in text or "scale" in text:
        watcher.note(ScalerFailed(**watcher.now(), error=text))
