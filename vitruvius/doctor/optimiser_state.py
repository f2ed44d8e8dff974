"""The books of one optimiser: which gradients are stale, which backward passes wait for a step, how far a step goes."""

import weakref
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

PROBES = 8
"""How many parameters of an optimiser are looked at where looking at all would cost time."""
Mark = tuple["weakref.ref[Tensor] | None", int]


@dataclass(slots=True)
class Waiting:
    """A backward pass that has reached this optimiser's parameters and was not followed by a step yet."""

    where: str
    root: str
    batch: int


@dataclass(slots=True)
class Ledger:
    """One optimiser, as the watcher sees it."""

    optimiser: Optimizer
    key: int
    steps: int = 0
    waiting: list[Waiting] = field(default_factory=list)
    zeroed: bool = False
    """Zeroed since the last backward pass that reached it."""
    backwards: int = 0
    """Backward passes since the last step, whether zeroed or not."""
    passes: int = 0
    """Backward passes since the last step, whether they reached it or not."""
    stepped: dict[int, Mark] = field(default_factory=dict)
    """The gradients that the last step used."""
    stale: set[int] = field(default_factory=set)
    """Parameters whose gradient holds one that a step has used already."""
    marks: list[Mark] = field(default_factory=list)
    size: float = 0.0
    before: list[Tensor] = field(default_factory=list)

    def parameters(self) -> list[Tensor]:
        """All parameters of all groups."""
        return [parameter for group in self.optimiser.param_groups for parameter in group["params"]]

    def probes(self) -> list[Tensor]:
        """A few parameters, matrices first."""
        known = self.parameters()
        matrices = [parameter for parameter in known if parameter.dim() >= 2] or known
        return matrices[:: max(1, len(matrices) // PROBES)]

    def expects_backward(self) -> None:
        """Before a backward pass: gradients left from the last step turn stale, dropped ones are forgotten."""
        if self.stepped:
            for parameter in self.parameters():
                mark, gradient = self.stepped.get(id(parameter)), parameter.grad
                if mark and gradient is not None and _is(gradient, mark) and bool(gradient.any()):
                    self.stale.add(id(parameter))
            self.stepped = {}
        self.marks = [_mark(parameter.grad) for parameter in self.probes()]

    def received(self) -> bool:
        """After a backward pass: whether it reached this optimiser."""
        return any(
            not _same(parameter.grad, mark)
            for parameter, mark in zip(self.probes(), self.marks, strict=False)
        )

    def measure(self) -> float:
        """Length of one gradient, to see whether it was scaled by hand later."""
        return next((float(probe.grad.norm()) for probe in self.probes() if probe.grad is not None), 0.0)

    def is_cleared(self) -> bool:
        """Whether all gradients are None or zero."""
        return all(probe.grad is None or not bool(probe.grad.any()) for probe in self.probes())

    def is_unchanged(self) -> bool:
        """Whether the gradients are those that the last step has used."""
        held = [(parameter.grad, self.stepped.get(id(parameter))) for parameter in self.probes()]
        return bool(held) and all(grad is not None and mark and _is(grad, mark) for grad, mark in held)

    def has_stale(self) -> int:
        """How many parameters are about to be moved by a gradient that was used before."""
        return sum(
            id(parameter) in self.stale and parameter.grad is not None for parameter in self.parameters()
        )

    def clear(self, keys: set[int] | None = None) -> None:
        """Gradients were zeroed: all, or those of some parameters."""
        self.stale = set() if keys is None else self.stale - keys
        self.stepped = (
            {} if keys is None else {key: mark for key, mark in self.stepped.items() if key not in keys}
        )

    def hold(self) -> None:
        """Keep copies, to measure how far the coming step goes."""
        with torch.no_grad():
            self.before = [probe.detach().clone() for probe in self.probes()]

    def movement(self) -> list[float]:
        """Length of the step relative to each weight, of those that were held."""
        pairs = [(probe.detach(), old) for probe, old in zip(self.probes(), self.before, strict=False)]
        self.before = []
        return [
            float((new - old).norm() / (old.norm() + 1e-12)) for new, old in pairs if new.shape == old.shape
        ]

    def settle(self) -> None:
        """A step was made: its gradients are used."""
        self.steps += 1
        self.stepped = {id(p): _mark(p.grad) for p in self.parameters() if p.grad is not None}
        self.waiting, self.zeroed, self.stale = [], False, set()
        self.backwards = self.passes = 0

    def facts(self) -> dict[str, Any]:
        """Kind, rates and parameters."""
        groups = self.optimiser.param_groups
        return {
            "optimiser": self.key,
            "name": type(self.optimiser).__name__,
            "lr": max((float(group.get("lr", 0.0)) for group in groups), default=0.0),
            "momentum": any(group.get("momentum", 0) or "betas" in group for group in groups),
            "decayed": tuple(
                id(p) for group in groups if group.get("weight_decay", 0) for p in group["params"]
            ),
            "parameters": tuple(map(id, self.parameters())),
        }


def _mark(gradient: Tensor | None) -> Mark:
    return (None, 0) if gradient is None else (weakref.ref(gradient), gradient._version)


def _is(gradient: Tensor, mark: Mark) -> bool:
    return mark[0] is not None and mark[0]() is gradient and gradient._version == mark[1]


def _same(gradient: Tensor | None, mark: Mark) -> bool:
    return mark[0] is None if gradient is None else _is(gradient, mark)
