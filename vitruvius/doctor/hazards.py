"""Operations that can make NaN or infinity of finite numbers: log, sqrt, a division, a mean of nothing.

What they were given and returned is held until the backward pass has ended, so that the guilty one can be
told when a loss or a gradient turns out to be NaN or infinite. Nothing is computed before that.
"""

import weakref
from collections import deque
from dataclasses import dataclass

import torch
from torch import Tensor, nn

MOST_CALLS, MOST_NUMBERS = 512, 8_000_000  # what is held at most: a network of thousands of roots is not
LARGEST = 1_000_000  # numbers that are looked at where no gradient is recorded


@dataclass(frozen=True, slots=True)
class Hazard:
    """One call of such an operation."""

    operation: str
    where: str
    module: weakref.ref[nn.Module] | None
    operands: tuple[Tensor | float, ...]
    value: Tensor

    def size(self) -> int:
        """How many numbers it holds."""
        tensors = [*self.operands, self.value]
        return sum(tensor.numel() for tensor in tensors if isinstance(tensor, Tensor))


@dataclass(frozen=True, slots=True)
class Source:
    """The call that made NaN or infinity."""

    hazard: Hazard
    count: int  # how many numbers did it
    what: str  # what they are: 'zeros', ...


class Hazards:
    """The calls since the last backward pass."""

    def __init__(self) -> None:
        self.calls: deque[Hazard] = deque()
        self.numbers = 0  # that are held
        self.found: list[Source] = []  # calls without gradients that made NaN or infinity
        self.alarmed = False  # a loss was NaN: from now on every call without gradients is looked at

    def add(self, hazard: Hazard) -> None:
        """Hold a call whose result has a gradient; look at once at one whose result has none."""
        if not hazard.value.requires_grad:
            if hazard.value.numel() <= LARGEST and len(self.found) < 8:
                source = _made(hazard)
                # Minus infinity is often meant: the logarithm of a mask.
                if source is not None and ("NaN" in source.what or "div" in hazard.operation):
                    self.found.append(source)
            return
        operands = tuple(o.detach() if isinstance(o, Tensor) else o for o in hazard.operands)
        kept = Hazard(hazard.operation, hazard.where, hazard.module, operands, hazard.value.detach())
        self.calls.append(kept)
        self.numbers += kept.size()
        while len(self.calls) > MOST_CALLS or self.numbers > MOST_NUMBERS:
            self.numbers -= self.calls.popleft().size()

    def clear(self) -> None:
        """Let go of all calls."""
        self.calls.clear()
        self.numbers = 0

    def of_value(self) -> Source | None:
        """The first call that made NaN or infinity of numbers that were not."""
        made = (source for hazard in self.calls if (source := _made(hazard)))
        return next(made, None) or next(iter(self.found), None)

    def of_gradient(self) -> Source | None:
        """The last call whose derivative is NaN or infinite."""
        singular = (source for hazard in reversed(self.calls) if (source := _singular(hazard)))
        return next(singular, None)


def _made(hazard: Hazard) -> Source | None:
    value, tensors = hazard.value, [o for o in hazard.operands if isinstance(o, Tensor)]
    if bool(torch.isfinite(value).all()):
        return None
    if any(bool(tensor.isnan().any()) for tensor in tensors if tensor.is_floating_point()):
        return None
    # A softmax over nothing but -inf makes NaN itself; any other infinity was made before.
    masked = hazard.operation == "softmax"
    if any(bool((tensor.isposinf() if masked else tensor.isinf()).any()) for tensor in tensors):
        return None
    nan = int(value.isnan().sum())
    count = nan or int(value.isinf().sum())
    return Source(hazard, count, f"of {value.numel()} results {'NaN' if nan else 'infinite'}")


def _singular(hazard: Hazard) -> Source | None:
    """Where the derivative of an operation is infinite, or zero times infinity."""
    first, second = (*hazard.operands, None, None)[:2]
    operation = hazard.operation.strip("_")
    points: Tensor | None = None
    if operation in ("sqrt", "log", "log2", "log10", "rsqrt", "reciprocal") and isinstance(first, Tensor):
        points = first == 0
    elif operation in ("div", "divide", "true_divide", "truediv"):
        points = second == 0 if isinstance(second, Tensor) else None
    elif operation == "pow" and isinstance(first, Tensor) and isinstance(second, float) and second < 1:
        points = first == 0 if second != 0 else None
    elif operation in ("acos", "asin", "arccos", "arcsin") and isinstance(first, Tensor):
        points = first.abs() == 1
    elif operation in ("std", "hypot"):
        points = hazard.value == 0
    elif operation in ("atan2", "arctan2") and isinstance(first, Tensor) and isinstance(second, Tensor):
        points = (first == 0) & (second == 0)
    elif operation == "log1p" and isinstance(first, Tensor):
        points = first == -1
    elif operation == "exp":
        points = hazard.value.isinf()
    count = 0 if points is None else int(points.sum())
    return Source(hazard, count, f"of {hazard.value.numel()} at a singular point") if count else None
