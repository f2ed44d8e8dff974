"""The state of one optimiser: stale gradients, backward passes that wait for a step, sizes of updates."""

import math
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from vitruvius.checks import Waiting

SAMPLED = 8  # how many parameters of an optimiser are looked at where looking at all would cost time
Version = tuple["weakref.ref[Tensor] | None", int]  # a gradient and torch's count of its changes in place


@dataclass(slots=True)
class OptimiserState:
    """What the watcher knows about one optimiser."""

    reference: "weakref.ref[Optimizer]"  # weak: a dead optimiser must not keep its moments
    key: int
    key_of: Callable[[Tensor], int]
    steps: int = 0
    watched: int = 0  # how many of them were watched
    wraps: bool = False  # its step calls that of another optimiser
    is_partial: bool = False  # of the step that is being made only the end is watched
    waiting: list[Waiting] = field(default_factory=list)
    zeroed: bool = False  # zeroed since the last backward pass that reached it
    backwards: int = 0  # backward passes since the last step, whether zeroed or not
    passes: int = 0  # backward passes since the last step, whether they reached it or not
    used: dict[int, Version] = field(default_factory=dict)  # the gradients that the last step used
    stale: set[int] = field(default_factory=set)
    """Parameters whose gradient contains one that a step has used already."""
    versions: list[Version] = field(default_factory=list)
    """The gradients of the sampled parameters before the backward pass."""
    norm: float = 0.0  # norm of one gradient after the last backward pass
    copies: list[Tensor] = field(default_factory=list)  # the sampled parameters before the step
    ids: list[int] = field(default_factory=list)  # of all parameters, for which `indices` holds
    indices: list[int] = field(default_factory=list)  # of the sampled parameters among them
    held: list[tuple[int, ...]] = field(default_factory=list)
    """Whether a group decays, and the ids of its parameters: what `last_keys` were found for."""
    last_keys: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())  # of the decayed and of all parameters

    @property
    def groups(self) -> list[dict[str, Any]]:
        """The parameter groups; none if the optimiser is gone."""
        optimiser = self.reference()
        return [] if optimiser is None else optimiser.param_groups

    def parameters(self) -> list[Tensor]:
        """All parameters of all groups."""
        return [parameter for group in self.groups for parameter in group["params"]]

    def sampled(self) -> list[Tensor]:
        """A few parameters, matrices if there are any."""
        known = self.parameters()
        ids = list(map(id, known))
        if ids != self.ids:
            matrices = [index for index, parameter in enumerate(known) if parameter.dim() >= 2]
            indices = matrices or list(range(len(known)))
            self.ids, self.indices = ids, indices[:: max(1, len(indices) // SAMPLED)]
        return [known[index] for index in self.indices]

    def before_backward(self) -> None:
        """Gradients that the last step used and that were not zeroed since become stale."""
        if self.used:
            for parameter in self.parameters():
                version, gradient = self.used.get(id(parameter)), parameter.grad
                if version and gradient is not None and _is(gradient, version) and not _is_zero(gradient):
                    self.stale.add(id(parameter))
            self.used = {}
        self.versions = [_version(parameter.grad) for parameter in self.sampled()]

    def has_new_gradients(self) -> bool:
        """After a backward pass: whether it reached this optimiser."""
        pairs = zip(self.sampled(), self.versions, strict=False)
        held = [(parameter.grad, version) for parameter, version in pairs]
        return any(seen[0] is not None if grad is None else not _is(grad, seen) for grad, seen in held)

    def gradient_norm(self) -> float:
        """Norm of one gradient, to see whether it is scaled by hand later."""
        return next((float(p.grad.norm()) for p in self.sampled() if p.grad is not None), 0.0)

    def has_finite_gradient(self) -> bool:
        """Whether one gradient consists of finite numbers; that of a GPU is not read."""
        held = (parameter.grad for group in self.groups for parameter in group["params"])
        gradient = next((grad for grad in held if grad is not None), None)
        known = gradient is not None and gradient.device.type == "cpu" and gradient.layout is torch.strided
        return gradient is None or not known or math.isfinite(float(gradient.detach().sum()))

    def is_cleared(self) -> bool:
        """Whether all gradients are None or zero."""
        return all(p.grad is None or _is_zero(p.grad) for p in self.sampled())

    def has_nothing_new(self, cleared: bool) -> bool:
        """Whether there is no gradient that an earlier step has not used."""
        if self.backwards:
            return False
        held = [(parameter.grad, self.used.get(id(parameter))) for parameter in self.sampled()]
        used = bool(held) and all(grad is not None and seen and _is(grad, seen) for grad, seen in held)
        return used or (cleared and not self.passes)

    def count_stale(self) -> int:
        """How many parameters are about to be moved by a gradient that was used before."""
        if not self.stale:
            return 0
        return sum(id(p) in self.stale and p.grad is not None for p in self.parameters())

    def count_used(self, other: "OptimiserState") -> int:
        """How many gradients of another optimiser the last step of this one has used, unchanged since."""
        if other is self or not self.used:
            return 0
        held = [(p.grad, self.used.get(id(p))) for p in other.parameters()]
        return sum(bool(grad is not None and seen and _is(grad, seen)) for grad, seen in held)

    def forget_gradients(self, keys: set[int] | None = None) -> None:
        """Gradients were zeroed: all, or those of some parameters."""
        self.stale = set() if keys is None else self.stale - keys
        self.used = {} if keys is None else {key: seen for key, seen in self.used.items() if key not in keys}

    def copy_weights(self) -> None:
        """Keep copies, to measure the update of the coming step."""
        with torch.no_grad():
            self.copies = [parameter.detach().clone() for parameter in self.sampled()]

    def update_ratios(self) -> tuple[float, ...]:
        """Norm of the update over the norm of the weight, for the parameters that were copied."""
        pairs = [(p.detach(), old) for p, old in zip(self.sampled(), self.copies, strict=False)]
        self.copies = []
        pairs = [(new, old) for new, old in pairs if new.shape == old.shape]
        return tuple(float((new - old).norm() / (old.norm() + 1e-12)) for new, old in pairs)

    def after_step(self) -> None:
        """A step was made: its gradients are used."""
        self.steps += 1
        self.watched += 1
        self.begin()

    def begin(self, is_partial: bool = False) -> None:
        """A step begins after the last one, whose gradients are used; or watching begins inside it."""
        held = [] if is_partial else self.parameters()
        self.used = {id(p): _version(p.grad) for p in held if p.grad is not None}
        self.waiting, self.zeroed, self.stale = [], False, set()
        self.backwards = self.passes = 0
        self.is_partial = is_partial

    def facts(self) -> dict[str, Any]:
        """The facts of an `OptimiserEvent`."""
        groups = self.groups
        # One tuple for all events while it is the same: a long training has many steps.
        held = [(bool(group.get("weight_decay", 0)), *map(id, group["params"])) for group in groups]
        if held != self.held:
            decayed = [p for group in groups if group.get("weight_decay", 0) for p in group["params"]]
            self.held = held
            self.last_keys = tuple(map(self.key_of, decayed)), tuple(map(self.key_of, self.parameters()))
        return {
            "optimiser": self.key,
            "name": type(self.reference()).__name__,
            "lr": max((float(group.get("lr", 0.0)) for group in groups), default=0.0),
            "momentum": any(group.get("momentum", 0) or "betas" in group for group in groups),
            "decayed": self.last_keys[0],
            "tiny_eps": any(map(_tiny_eps, groups)),
            "wraps": self.wraps,
            "added_decay": max((_added_decay(group) for group in groups), default=0.0),
            "parameters": self.last_keys[1],
        }


def _added_decay(group: dict[str, Any]) -> float:
    """Weight decay that a group of Adam adds to its gradients."""
    apart = group.get("decoupled_weight_decay", True) or "betas" not in group
    return 0.0 if apart else float(group.get("weight_decay", 0.0))


def has_gradient(parameter: Tensor) -> bool:
    """Whether a step would move a parameter."""
    return parameter.grad is not None and not _is_zero(parameter.grad)


def _tiny_eps(group: dict[str, Any]) -> bool:
    """Whether the eps of a group is zero in the type of its parameters: 1e-8 is in float16."""
    eps, kinds = group.get("eps"), {p.dtype for p in group["params"]}
    halves = isinstance(eps, float) and eps > 0 and torch.float16 in kinds
    return halves and float(torch.tensor(eps, dtype=torch.float16)) == 0


def _is_zero(gradient: Tensor) -> bool:
    """Whether all numbers are zero; the first few of a gradient tell mostly that they are not."""
    has_rows = gradient.layout is torch.strided and gradient.dim() > 1 and len(gradient) > 0
    return not (has_rows and bool(gradient[0].any())) and not bool(gradient.any())


def _version(gradient: Tensor | None) -> Version:
    return (None, 0) if gradient is None else (weakref.ref(gradient), gradient._version)


def _is(gradient: Tensor, seen: Version) -> bool:
    return seen[0] is not None and seen[0]() is gradient and gradient._version == seen[1]


def _goal(group: dict[str, Any]) -> float:
    """The rate that a schedule begins with, or that a cycle rises to."""
    return max(float(group.get("initial_lr", 0.0)), float(group.get("max_lr", 0.0)))


def scheduler_facts(scheduler: Any, state: OptimiserState | None) -> dict[str, Any]:
    """The facts of a `SchedulerStep`: the learning rate that it has set, and its length."""
    groups = getattr(getattr(scheduler, "optimizer", None), "param_groups", [])
    length = [getattr(scheduler, name, None) for name in ("total_steps", "T_max", "total_iters")]
    return {
        "optimiser": state.key if state else 0,
        "lr": max((float(group["lr"]) for group in groups), default=0.0),
        "optimiser_steps": state.steps if state else None,
        "name": type(scheduler).__name__,
        "length": next((int(number) for number in length if number), None),
        "initial": max((_goal(group) for group in groups), default=0.0),
    }
