"""By how much the gradients of an optimiser are scaled, as by torch.amp.GradScaler."""

import weakref
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

NEAR = 4  # operations between a scaled loss and its backward pass


@dataclass(slots=True)
class Scaling:
    """By how much gradients are scaled that no step has used yet."""

    factor: float = 1.0  # of the loss that was scaled last and that no backward pass has used
    factors: dict[int, list[float]] = field(default_factory=dict)  # of the backward passes of an optimiser
    unscaled: set[int] = field(default_factory=set)
    stepping: float = 0.0  # the scale of the scaler whose step() is running
    output: "weakref.ref[Tensor] | None" = None  # the loss that was scaled last

    def begins(self, loss: Tensor) -> None:
        """A backward pass begins at a loss: if it is not the one that was scaled, it has no factor."""
        scaled = self.output() if self.output is not None else None
        if self.factor == 1.0 or self.output is None:
            return
        if scaled is None:  # it was thrown away
            self.factor = 1.0
            return
        node: Any = loss.grad_fn
        for _ in range(NEAR):
            if loss is scaled or node is None or node is scaled.grad_fn:
                break
            node = next((following for following, _ in node.next_functions if following is not None), None)
        if loss is not scaled and (node is None or node is not scaled.grad_fn):
            self.factor = 1.0

    def reached(self, optimiser: int) -> None:
        """A backward pass has reached an optimiser."""
        self.factors.setdefault(optimiser, []).append(self.factor)

    def forget(self, optimiser: int) -> None:
        """Gradients were used or zeroed."""
        self.factors.pop(optimiser, None)
        self.unscaled.discard(optimiser)

    def left(self, optimiser: int) -> float:
        """The factor that is still in the gradients of an optimiser; 1 if there is none."""
        return 1.0 if optimiser in self.unscaled else max(self.factors.get(optimiser, [1.0]))

    def facts(self, optimiser: int) -> dict[str, Any]:
        """What a step of an optimiser does with scaled gradients."""
        if not self.stepping:
            return {"scaled": self.left(optimiser)}
        known = self.factors.get(optimiser, [])
        return {"never_scaled": sum(factor == 1.0 for factor in known) if self.stepping != 1.0 else 0}
