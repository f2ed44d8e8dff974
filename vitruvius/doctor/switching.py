"""Hooks that are taken away between two windows of watched steps, where a call of them would cost time only.

A hook on all modules makes every call of a module take a slower way through torch, and a method of Tensor
that is replaced makes every `x + y` a call of Python. Functions of modules stay replaced: other modules may
hold them by `from torch import ...`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch.nn.modules import module as modules

from vitruvius.doctor.rewiring import Rewired


@dataclass(frozen=True, slots=True)
class Swap:
    """A function or method and what replaces it."""

    owner: Any
    name: str
    original: Any
    call: Any
    is_inherited: bool

    def put(self) -> None:
        """Replace it."""
        setattr(self.owner, self.name, self.call)

    def take(self) -> None:
        """Give back the original."""
        if self.is_inherited and self.name in vars(self.owner):
            delattr(self.owner, self.name)
        elif not self.is_inherited:
            setattr(self.owner, self.name, self.original)


def swap(owner: Any, name: str, call: Any) -> Swap:
    """A replacement that has not been put in place."""
    inherited = isinstance(owner, type) and name not in vars(owner)
    return Swap(owner, name, getattr(owner, name), call, inherited)


@dataclass(slots=True)
class Switch:
    """The hooks of a watcher that can be taken away."""

    register: Callable[[], list[Any]]  # puts hooks on all modules, and returns their handles
    methods: list[Swap]
    losses: list[Rewired]
    handles: list[Any] = field(default_factory=list)

    def set(self, seeing: bool, watching: bool, sampling: bool) -> None:
        """Put or take the hooks: on passes of modules and losses if passes are looked at, and on methods.

        Each method says which of the three it needs: `argmax` matters in every pass that is looked at.
        """
        flags = {"seeing": seeing, "watching": watching, "sampling": sampling}
        if seeing and not self.handles:
            self.handles = self.register()
        elif self.handles and not seeing:
            self.remove()
        for loss in self.losses:
            (loss.put if seeing else loss.take)()
        for each in self.methods:
            current = vars(each.owner).get(each.name)
            wanted = flags[each.call.needs]
            # Another watcher inside this one has replaced it too: then it stays.
            if wanted and current is not each.call and getattr(each.owner, each.name) is each.original:
                each.put()
            elif not wanted and current is each.call:
                each.take()

    def remove(self) -> None:
        """Take the hooks off all modules."""
        for handle in self.handles:
            handle.remove()
            # Removing the handle leaves this entry behind, and torch would believe that a hook exists.
            modules._global_forward_hooks_with_kwargs.pop(handle.id, None)
        self.handles = []
