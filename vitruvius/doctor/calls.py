"""Calls of torch's functions that checks look at: who made which tensor, masks, reshapes, changes in place.

Costly facts are recorded while the watcher is sampling; every call costs a microsecond otherwise.
"""

import math
import sys
import weakref
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim import Optimizer

from vitruvius.checks import InplaceChange, Mask, NanSource, Prediction, Reshaped, SoftmaxTaken
from vitruvius.doctor import masks, origins, user_code
from vitruvius.doctor.forward_passes import note_inverted_mask
from vitruvius.doctor.hazards import Hazard
from vitruvius.doctor.origins import Origin
from vitruvius.doctor.reshapes import lost_axis
from vitruvius.doctor.telling import tell
from vitruvius.doctor.watcher import Watcher

CALLER = 2  # frames between a replacement and who called the original
HAZARDS = (
    *("sqrt", "rsqrt", "log", "log2", "log10", "pow", "div", "divide", "true_divide", "reciprocal"),
    *("acos", "asin", "arccos", "arcsin", "exp", "mean", "std", "var", "atan2", "arctan2", "logit", "atanh"),
    *("log1p", "hypot", "float_power"),
)
COMPARISONS = ("__gt__", "__lt__", "__ge__", "__le__")
CARRIERS = ("float", "double", "to", "type", "sum", "__mul__", "__rmul__")
"""Methods through which a comparison comes to be a term of a loss, beside means, quotients and sums."""
ACTIVATIONS = ("relu", "sigmoid", "tanh", "log_softmax")
STEPS = ("round", "sign", "floor", "ceil", "trunc")  # functions whose derivative is zero
SUMS = ("__add__", "__radd__", "__iadd__", "__sub__", "__rsub__", "add", "sub")
IN_PLACE = (
    *("__iadd__", "__isub__", "__imul__", "__itruediv__", "__setitem__", "add_", "sub_", "mul_", "div_"),
    *("clamp_", "masked_fill_", "relu_", "sigmoid_", "tanh_", "exp_", "zero_", "fill_", "copy_", "sqrt_"),
    *("clamp_min_", "clamp_max_", "index_add_", "index_fill_", "index_copy_", "scatter_", "scatter_add_"),
    *("masked_scatter_", "pow_", "neg_", "abs_", "round_", "normal_", "uniform_", "bernoulli_", "addcmul_"),
)
SETTERS = ("fill_", "zero_", "normal_", "uniform_", "copy_", "mul_", "__imul__", "__setitem__")
"""Changes in place that give weights their first values."""
INPLACE_OPTIONS = ("leaky_relu", "elu", "silu", "hardtanh", "relu6", "selu", "celu", "threshold", "mish")
"""Functions of torch.nn.functional that write into their input if told so."""
LAYERS = nn.Module.__init__.__code__.co_filename.rpartition("module.py")[0]
OPTIM = sys.modules[Optimizer.__module__].__file__ or ""
FOLDER = OPTIM.rpartition("optimizer.py")[0]


def replacements() -> list[tuple[Any, str, Any]]:
    """The functions and methods that are replaced, with what replaces them."""
    method = torch.Tensor
    found: list[tuple[Any, str, Any]] = [
        (owner, name, _hazard) for owner in (torch, method) for name in HAZARDS if hasattr(owner, name)
    ]
    found += [(method, name, _hazard) for name in ("__truediv__", "__pow__")]
    found += [(torch, name, _sum) for name in ("add", "sub")]
    found += [(method, name, _compared) for name in COMPARISONS]
    found += [(method, name, _carried) for name in CARRIERS] + [(torch, "sum", _carried)]
    found += [(owner, name, _activation) for owner in (torch, method) for name in ACTIVATIONS + STEPS]
    found += [(owner, "softmax", _softmax) for owner in (torch, method)]
    found += [(method, name, _sum) for name in SUMS if name != "__iadd__"]
    found += [(method, name, _in_place) for name in IN_PLACE]
    found += [(owner, name, _filled) for owner in (torch, method) for name in ("masked_fill",)]
    found += [(method, name, _reshaped) for name in ("view", "reshape")]
    found += [(owner, "max", _largest) for owner in (torch, method)]
    found += [(torch, "stack", _stacked), (torch, "where", _chosen), (torch, "reshape", _reshaped)]
    found += [(functional, name, _may_write) for name in INPLACE_OPTIONS]
    found += [(torch, "relu_", _in_place), (functional, "multi_head_attention_forward", _multihead)]
    return found


def line(frame: FrameType) -> str:
    """The line of the user's code that called an operation, perhaps through torch."""
    file = frame.f_code.co_filename
    return f"{file}:{frame.f_lineno}" if user_code.is_plain(frame) else user_code.where()


def running(watcher: Watcher) -> "weakref.ref[nn.Module] | None":
    """The innermost module that is running."""
    return weakref.ref(watcher.stack[-1]) if watcher.stack else None


def _hazard(watcher: Watcher, original: Any, *args: Any, **kwargs: Any) -> Any:
    value = original(*args, **kwargs)
    if isinstance(value, Tensor) and (value.requires_grad or watcher.sampling or watcher.hazards.alarmed):
        given, frame = (*args, *kwargs.values()), sys._getframe(CALLER)
        tell(watcher, (NanSource,), _note_hazard, watcher, original.__name__, given, value, frame)
        if not value.requires_grad and watcher.sampling:
            tell(watcher, (), _carry, args, value)
    return value


def _compared(watcher: Watcher, original: Any, *args: Any, **kwargs: Any) -> Any:
    value = original(*args, **kwargs)
    if torch.is_grad_enabled() and any(isinstance(a, Tensor) and a.requires_grad for a in args):
        tell(watcher, (), _note_cut, value, sys._getframe(CALLER))
    return value


def _note_cut(value: Any, frame: FrameType) -> None:
    if user_code.is_own(frame):
        origins.note_cut(value, line(frame))


def _carried(watcher: Watcher, original: Any, *args: Any, **kwargs: Any) -> Any:
    value = original(*args, **kwargs)
    if isinstance(value, Tensor) and not value.requires_grad:
        tell(watcher, (), _carry, args, value)
    return value


def _carry(given: tuple[Any, ...], value: Tensor) -> None:
    """What is computed from a tensor that a comparison has cut off is cut off too."""
    origins.note_cut(value, origins.cut_at(given))


def _note_hazard(watcher: Watcher, name: str, given: tuple[Any, ...], value: Any, frame: FrameType) -> None:
    if not isinstance(value, Tensor) or not value.is_floating_point() or not _is_plain(value):
        return
    file = frame.f_code.co_filename
    if file.startswith(FOLDER):
        return
    if not value.requires_grad:
        wanted = watcher.sampling or watcher.hazards.alarmed
        if not wanted or not user_code.is_users(file):
            return
    operands = tuple(v for v in given if isinstance(v, Tensor | float))
    hazard = Hazard(name, line(frame), running(watcher), operands, value)
    if value.requires_grad:
        watcher.hazards.add(hazard)
    else:
        with watcher.looking():
            watcher.hazards.add(hazard)


def _is_plain(value: Tensor) -> bool:
    return value.layout is torch.strided and not value.is_nested and type(value) in (Tensor, nn.Parameter)


def _activation(watcher: Watcher, original: Any, *args: Any, **kwargs: Any) -> Any:
    value = original(*args, **kwargs)
    if isinstance(value, Tensor) and value.requires_grad:
        _note_activation(watcher, original.__name__, sys._getframe(CALLER), value, *args[1:], **kwargs)
    return value


def _softmax(watcher: Watcher, original: Any, *args: Any, **kwargs: Any) -> Any:
    """The one activation that can make NaN, of a row that is masked whole: it is seen in every step."""
    value = original(*args, **kwargs)
    if isinstance(value, Tensor) and value.requires_grad:
        name, frame = original.__name__, sys._getframe(CALLER)
        tell(watcher, (NanSource,), _note_hazard, watcher, name, args, value, frame)
        if watcher.sampling:
            _note_activation(watcher, name, frame, value, *args[1:], **kwargs)
    return value


def _note_activation(
    watcher: Watcher, name: str, frame: FrameType, value: Tensor, *args: Any, **kwargs: Any
) -> None:
    tell(watcher, (NanSource,), mark, watcher, name, value, frame)
    tell(watcher, (InplaceChange,), watcher.hold_result, value)
    if name.endswith("softmax"):
        tell(watcher, (SoftmaxTaken,), _note_softmax, watcher, value, frame, *args, **kwargs)


def _note_softmax(watcher: Watcher, value: Tensor, frame: FrameType, *args: Any, **kwargs: Any) -> None:
    axis = kwargs.get("dim", args[0] if args else None)
    if isinstance(axis, int) and value.dim():
        facts: dict[str, Any] = {"axis": axis % value.dim(), "shape": tuple(value.shape)}
        place: dict[str, Any] = {"module": watcher.path_of(running(watcher)), "own": user_code.is_own(frame)}
        watcher.note(SoftmaxTaken(**watcher.now(line(frame)), **facts, **place))


def mark(watcher: Watcher, operation: str, value: Any, frame: FrameType) -> None:
    """Note who made a tensor."""
    if isinstance(value, Tensor) and value.grad_fn is not None:
        origins.mark(value, Origin(operation, line(frame), running(watcher), user_code.is_own(frame)))


def _sum(watcher: Watcher, original: Any, *args: Any, **kwargs: Any) -> Any:
    value = original(*args, **kwargs)
    if not isinstance(value, Tensor) or not value.requires_grad:
        if isinstance(value, Tensor):
            tell(watcher, (), _carry, args, value)
        return value
    if not value.dim():
        tell(watcher, (), _note_constant, watcher, args, value, sys._getframe(CALLER))
    elif value.dim() > 2:
        tell(watcher, (Mask,), _note_added, watcher, args, value, sys._getframe(CALLER))
    return value


def _note_added(watcher: Watcher, terms: Any, value: Tensor, frame: FrameType) -> None:
    """Note a mask that is added to scores by hand."""
    if not user_code.is_users(frame.f_code.co_filename):
        return
    for mask in terms:
        plain = isinstance(mask, Tensor) and mask.is_floating_point() and not mask.requires_grad
        fits = plain and mask.dim() > 1 and mask.shape[-1] == value.shape[-1]
        if fits and bool((mask.detach() <= masks.HIDDEN).any()):
            note_mask(watcher, "addition", masks.added(mask), frame)


def _note_constant(watcher: Watcher, terms: Any, value: Tensor, frame: FrameType) -> None:
    """Note the number that is added to a loss without a gradient."""
    constants = [t for t in terms if not (isinstance(t, Tensor) and t.requires_grad)]
    numbers = [float(t) for t in constants if isinstance(t, int | float) or t.numel() == 1]
    if numbers and len(numbers) < len(terms):
        cut = origins.cut_at(constants)
        origins.mark(value, Origin("sum", line(frame), constant=math.fsum(numbers), cut=cut))


def _stacked(watcher: Watcher, original: Any, *args: Any, **kwargs: Any) -> Any:
    value = original(*args, **kwargs)
    if isinstance(value, Tensor) and value.dim() == 1 and value.requires_grad:
        terms = tuple(args[0] if args else ())
        tell(watcher, (), _note_constant, watcher, terms, value, sys._getframe(CALLER))
    return value


def _in_place(watcher: Watcher, original: Any, *args: Any, **kwargs: Any) -> Any:
    changed, name, frame = args[0], original.__name__, sys._getframe(CALLER)
    try:
        value = original(*args, **kwargs)
    except RuntimeError as error:
        tell(watcher, (InplaceChange,), _note_refused, watcher, name, error, frame)
        raise
    if not isinstance(changed, Tensor):
        return value
    if not watcher.backwards and name in SETTERS:
        tell(watcher, (), _note_values, watcher, changed, frame)
    if watcher.results and not changed.requires_grad:
        tell(watcher, (InplaceChange,), _note_silent, watcher, name, changed, frame)
    if changed.requires_grad:
        tell(watcher, (InplaceChange,), _note_change, watcher, name, changed, frame)
        if name == "__iadd__" and watcher.sampling and not changed.dim():
            tell(watcher, (), _note_constant, watcher, args, changed, frame)
    return value


def _note_values(watcher: Watcher, changed: Tensor, frame: FrameType) -> None:
    """Note the line that sets the first values of weights, unless a layer of torch does it by itself."""
    caller: FrameType | None = frame
    by_layer = False
    while caller is not None and caller.f_code.co_filename.startswith(user_code.TORCH):
        by_layer = by_layer or caller.f_code.co_filename.startswith(LAYERS)
        caller = caller.f_back
    own = caller is not None and not by_layer and user_code.is_plain(caller)
    where = f"{caller.f_code.co_filename}:{caller.f_lineno}" if own and caller is not None else ""
    watcher.networks.note_values(changed, where)


def _may_write(watcher: Watcher, original: Any, *args: Any, **kwargs: Any) -> Any:
    value = original(*args, **kwargs)
    if kwargs.get("inplace") is True or any(given is True for given in args[1:]):
        changed = args[0] if args else kwargs.get("input")
        if isinstance(changed, Tensor) and changed.requires_grad:
            name, frame = original.__name__, sys._getframe(CALLER)
            tell(watcher, (InplaceChange,), _note_change, watcher, name, changed, frame)
    return value


def _note_refused(watcher: Watcher, name: str, error: Exception, frame: FrameType) -> None:
    """Note a change in place that torch has refused: of a leaf, or of a view of one."""
    text = str(error).partition("\n")[0]
    if "leaf" in text and "in-place" in text.replace("inplace", "in-place"):
        watcher.note(InplaceChange(**watcher.now(line(frame)), operation=name, error=text))


def _note_change(watcher: Watcher, name: str, changed: Tensor, frame: FrameType) -> None:
    try:
        is_leaf = changed.is_leaf
    except RuntimeError:  # a view made without gradients, as that of the padding of an embedding
        return
    # Leaves are weights, which optimisers and updates by hand change without a graph.
    if not is_leaf:
        watcher.changes.append((line(frame), name, tuple(changed.shape), changed._version))


def _note_silent(watcher: Watcher, name: str, changed: Tensor, frame: FrameType) -> None:
    """Note a change, through .data or detach(), of a result that its own derivative is computed from."""
    if changed.layout is not torch.strided or changed.is_meta or type(changed) is not Tensor:
        return
    held = watcher.results.get(changed.data_ptr())
    result = held[0]() if held is not None else None
    if held is None or result is None or result.grad_fn is None or changed.numel() == 0:
        return
    watcher.changes.append((line(frame), name, tuple(result.shape), result._version))
    if result._version == held[1]:  # detach() would have counted it, and backward() will complain
        operation = result.grad_fn.name().removesuffix("Backward0").lower()
        watcher.note(InplaceChange(**watcher.now(line(frame)), operation=name, error="", maker=operation))


def _filled(watcher: Watcher, original: Any, *args: Any, **kwargs: Any) -> Any:
    value = original(*args, **kwargs)
    if torch.is_grad_enabled():
        given = dict(zip(("input", "mask", "value"), args, strict=False)) | kwargs
        tell(watcher, (Mask,), _note_fill, watcher, given, sys._getframe(CALLER))
    return value


def _note_fill(watcher: Watcher, given: dict[str, Any], frame: FrameType) -> None:
    mask, low = given.get("mask"), given.get("value")
    if isinstance(mask, Tensor) and _is_low(low) and user_code.is_users(frame.f_code.co_filename):
        note_mask(watcher, "masked_fill", masks.Hidden(mask.detach()), frame)


def _is_low(value: Any) -> bool:
    if isinstance(value, Tensor):
        value = value.item() if value.numel() == 1 else 0.0
    return isinstance(value, int | float) and value <= masks.HIDDEN


def _chosen(watcher: Watcher, original: Any, *args: Any, **kwargs: Any) -> Any:
    value = original(*args, **kwargs)
    if len(args) == 3 and not kwargs and torch.is_grad_enabled():
        tell(watcher, (Mask,), _note_choice, watcher, args, sys._getframe(CALLER))
    return value


def _note_choice(watcher: Watcher, args: tuple[Any, ...], frame: FrameType) -> None:
    """Note a mask that `where` applies to scores."""
    mask, yes, no = args
    if isinstance(mask, Tensor) and user_code.is_users(frame.f_code.co_filename) and mask.dtype == torch.bool:
        if _is_low(no) and not _is_low(yes):
            note_mask(watcher, "where", masks.Hidden(~mask.detach()), frame)
        elif _is_low(yes) and not _is_low(no):
            note_mask(watcher, "where", masks.Hidden(mask.detach()), frame)


def _multihead(watcher: Watcher, original: Any, *args: Any, **kwargs: Any) -> Any:
    if torch.is_grad_enabled():
        tell(watcher, (Mask,), _note_multihead, watcher, kwargs, sys._getframe(CALLER))
    return original(*args, **kwargs)


def _note_multihead(watcher: Watcher, given: dict[str, Any], frame: FrameType) -> None:
    for name in ("attn_mask", "key_padding_mask"):
        mask = given.get(name)
        if isinstance(mask, Tensor):
            hidden = masks.added(mask) if mask.is_floating_point() else masks.Hidden(mask.detach() != 0)
            note_mask(watcher, name, hidden, frame)


def note_attention_mask(watcher: Watcher, mask: Any, frame: FrameType) -> None:
    """Note the mask of scaled_dot_product_attention, which is True where a key takes part."""
    if isinstance(mask, Tensor) and user_code.is_users(frame.f_code.co_filename):
        hidden = masks.added(mask) if mask.is_floating_point() else masks.Hidden(~mask.detach().bool())
        note_mask(watcher, "attn_mask", hidden, frame)


def note_mask(watcher: Watcher, name: str, hidden: masks.Hidden, frame: FrameType) -> None:
    """Note a mask that says something about the order of tokens; that of a batch waits for its tokens."""
    with watcher.looking():
        per_row, module = hidden.per_row, running(watcher)
        if per_row is not None and watcher.stack:
            watcher.running.masks.append((name, line(frame), module, per_row))
        if hidden.keys is None or hidden.anti_causal:
            empty = hidden.keys is not None and bool(hidden.keys.all(-1).any())
            facts = {"added": hidden.keys is None, "anti_causal": hidden.anti_causal, "emptied": empty}
            note_inverted_mask(watcher, name, line(frame), module, **facts)


def _reshaped(watcher: Watcher, original: Any, *args: Any, **kwargs: Any) -> Any:
    value = original(*args, **kwargs)
    if torch.is_grad_enabled():
        tell(watcher, (Reshaped,), _note_reshape, watcher, args[0], value, sys._getframe(CALLER))
    return value


def _note_reshape(watcher: Watcher, before: Any, after: Any, frame: FrameType) -> None:
    both = isinstance(before, Tensor) and isinstance(after, Tensor) and before.is_floating_point()
    used = before.requires_grad or watcher.stack or watcher.optimisers if both else False
    if not both or before.dim() < 2 or not (used or before.dim() > 2):  # a matrix may be made of a flat row
        return
    lost = lost_axis(tuple(before.shape), tuple(after.shape))
    if lost is None or not user_code.is_users(frame.f_code.co_filename):
        return
    made = before.grad_fn.name() if before.grad_fn is not None else ""
    if made.startswith(("Cat", "ConstantPad")):  # the shift of relative positions is made so on purpose
        return
    shapes: dict[str, Any] = {"before": tuple(before.shape), "after": tuple(after.shape), "axis": lost}
    watcher.note(Reshaped(**watcher.now(line(frame)), **shapes, module=watcher.path_of(running(watcher))))


def _largest(watcher: Watcher, original: Any, *args: Any, **kwargs: Any) -> Any:
    if len(args) + len(kwargs) == 2:
        predicts(watcher, sys._getframe(CALLER), *args, **kwargs)
    return original(*args, **kwargs)


def predicts(watcher: Watcher, frame: FrameType, *args: Any, **kwargs: Any) -> None:
    """Note who looks for the largest number, at each line once between two samples."""
    called = (frame.f_code.co_filename, frame.f_lineno)
    if watcher.sampling or called not in watcher.predicting:
        watcher.predicting.add(called)
        tell(watcher, (Prediction,), note_prediction, watcher, *args, **kwargs)


def note_prediction(watcher: Watcher, input: Any, dim: Any = None, *args: Any, **kwargs: Any) -> None:
    """Note along which axis the largest score of a network is looked for."""
    if isinstance(dim, Tensor) or not isinstance(input, Tensor) or not input.is_floating_point():
        return
    rows = len(watcher.last.x) if watcher.last.x is not None and watcher.last.x.dim() else 0
    # An evaluation has other batches than the loss that was seen last.
    fits = input.shape == watcher.scores or (len(input) == rows and input.shape[1:] == watcher.scores[1:])
    if input.dim() >= 2 and min(input.shape[:2]) > 1 and fits:
        axis = None if dim is None else int(dim) % input.dim()
        facts: dict[str, Any] = {"scores": tuple(input.shape), "as_made": input.is_contiguous()}
        watcher.note(Prediction(**watcher.now(), axis=axis, **facts))


SEEN = (_in_place, _may_write, _largest)
"""Replacements that do nothing in passes that are not looked at."""
SAMPLED = (_compared, _carried, _activation, _sum, _stacked, _filled, _chosen, _multihead, _reshaped)
"""Replacements that do nothing between two samples."""
