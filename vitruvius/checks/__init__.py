"""Checks: what the doctor knows. A member is one generator function, named like its file and like the bug it finds.

`def foo(trace: Trace) -> Iterator[Finding]`. A `Trace` is what a training did, in order: events (`optimiser`,
`forward`, `criterion`, `backward`, `gradients`, `asked` (autograd.grad), `zero_grad`, `dropped`, `step`,
`restarted`, `scheduler_step`, `dropout`, `argmax`, `attention`, `non_finite`), each with the number of optimiser steps
done and the line of the user's code; the parameters that took part; and one example batch for each network, for checks
that experiment on a copy. Checks that prove may give errors, checks that weigh numbers give warnings at most.
`explains` of a finding names the bugs that are its consequences.

Each file also holds two small programs as text: `SICK`, with the guilty line marked `# here`, and `HEALTHY`. Laws,
tested over the folder: a check fires on SICK at the marked line, stays silent on HEALTHY, and SICK is missed when
only this file is gone.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from vitruvius.core import plugins

if TYPE_CHECKING:
    from torch import nn

__all__ = ["Check", "Event", "Example", "Finding", "Parameter", "Severity", "Trace", "get"]

Severity: TypeAlias = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Event:
    """One thing the training did; facts that were not looked at this time are None."""

    kind: str
    step: int
    where: str
    facts: Mapping[str, Any]

    def __getitem__(self, fact: str) -> Any:
        return self.facts.get(fact)


@dataclass(slots=True)
class Parameter:
    """What is known of one tensor that can learn."""

    name: str = ""
    """Its path in the network that ran, empty if no network that ran holds it."""
    layer: str = ""
    """The class of the module that holds it."""
    shape: tuple[int, ...] = ()
    trainable: bool = True
    reached: bool = False
    """A backward pass arrived at it."""
    changed: bool = False
    """Its value at the end is not its value at the beginning."""
    alike: bool = False
    """All its units were equal at the beginning and at the end."""
    ran: bool = False
    """The module that holds it was called while gradients were recorded."""
    declared: bool = True
    """It is an nn.Parameter, no plain tensor that asks for a gradient."""
    network: int = 0
    """The network that ran and holds it."""


@dataclass(slots=True)
class Example:
    """A network that was trained, with one batch it saw."""

    model: "nn.Module"
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    where: str
    shifted: bool = False
    """The targets are the inputs one step later: it predicts what comes next."""
    target_shape: tuple[int, ...] = ()
    batches: int = 1
    """How many different batches it saw (counted up to a few)."""


@dataclass(slots=True)
class Trace:
    """What a training did, in order."""

    events: list[Event] = field(default_factory=list)
    parameters: dict[int, Parameter] = field(default_factory=dict)
    examples: list[Example] = field(default_factory=list)
    neighbours: tuple[float, float, int] | None = None
    """Share of rows whose nearest row has the same label, the share expected by chance, and the rows compared."""
    relabelled: tuple[int, int] = (0, 0)
    """Rows seen again with another label, and rows seen again."""
    steps: int = 0

    def of(self, *kinds: str) -> list[Event]:
        """The events of some kinds, in order."""
        return [event for event in self.events if event.kind in kinds]

    def optimised(self) -> set[int]:
        """Keys of the parameters that some optimiser holds."""
        return {key for event in self.of("optimiser", "step") for key in event["parameters"] or ()}


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict: what is wrong, in which line, by which numbers, and the change that mends it."""

    where: str
    evidence: str
    why: str
    fix: str
    severity: Severity = "warning"
    exact: bool = False
    module: str | None = None
    """The guilty module by its dotted name within the network, where one is known."""
    also: tuple[str, ...] = ()
    """Other lines that take part; an allowance on any of them counts."""
    explains: tuple[str, ...] = ()
    """Bugs that are only consequences of this one."""


Check: TypeAlias = Callable[[Trace], Iterator[Finding]]


@cache
def get(name: str) -> Check:
    """The check of that name, or the user's own from `./mine.py:name`."""
    return plugins.function("checks", name)
