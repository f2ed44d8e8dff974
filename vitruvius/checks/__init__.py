"""Checks: the training bugs that the doctor knows. A member is a generator function named like its file.

`def foo(trace: Trace) -> Iterator[Finding]`. A `Trace` is what a training did, in order: typed events
(`_events.py`), each with the number of optimiser steps done and the line of the user's code; the parameters
that took part; and one example batch for each network, for checks that experiment on a copy. Exact checks may
give errors; heuristics with a threshold give warnings at most. `explains` of a finding names consequences.

Each file also holds two small programs as text: `SICK`, with the guilty line marked `# here`, and `HEALTHY`.
Laws, tested over the folder: a check fires on SICK at the marked line, stays silent on HEALTHY, and SICK is
missed when only this file is gone.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar, overload

from pydantic import Field

from vitruvius.checks._events import (
    Argmax,
    Attention,
    AutogradGrad,
    Backward,
    Criterion,
    DropoutInEval,
    Event,
    Forward,
    Gradients,
    GradientsDropped,
    GraphFacts,
    NonFinite,
    OptimiserBuilt,
    OptimiserEvent,
    Restarted,
    SchedulerStep,
    Step,
    Waiting,
    ZeroGrad,
)
from vitruvius.core import plugins, records
from vitruvius.core.blocks import Block, Text

if TYPE_CHECKING:
    from torch import Tensor, nn

__all__ = [
    "Argmax",
    "Attention",
    "AutogradGrad",
    "Backward",
    "Check",
    "Criterion",
    "DropoutInEval",
    "Event",
    "Example",
    "Finding",
    "Forward",
    "Gradients",
    "GradientsDropped",
    "GraphFacts",
    "NonFinite",
    "OptimiserBuilt",
    "OptimiserEvent",
    "Parameter",
    "Restarted",
    "SchedulerStep",
    "Step",
    "Trace",
    "Waiting",
    "ZeroGrad",
    "findings",
    "first_tensor",
    "get",
    "lines",
]

A = TypeVar("A", bound=Event)
B = TypeVar("B", bound=Event)
C = TypeVar("C", bound=Event)


@dataclass(slots=True)
class Parameter:
    """What is known about one tensor that can learn."""

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
    """It is an nn.Parameter, not a plain tensor that requires a gradient."""
    network: int = 0
    """The network that ran and holds it."""


@dataclass(slots=True)
class Example:
    """A network that was trained, with one batch that it was given."""

    model: "nn.Module"
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    where: str
    shifted: bool = False
    """The targets are the inputs one step later: it predicts what comes next."""
    target_shape: tuple[int, ...] = ()
    batches: int = 1
    """How many different batches it was given (counted up to 9)."""

    @property
    def rows(self) -> int:
        """Rows of its first input; 0 if that is no tensor with a batch axis."""
        from torch import Tensor

        first = self.args[0] if self.args else None
        return len(first) if isinstance(first, Tensor) and first.dim() else 0


@dataclass(slots=True)
class Trace:
    """What a training did, in order."""

    events: list[Event] = field(default_factory=list)
    parameters: dict[int, Parameter] = field(default_factory=dict)
    examples: list[Example] = field(default_factory=list)
    neighbours: tuple[float, float, int] | None = None
    """Fraction of rows whose nearest row has the same label, the same by chance, and the rows compared."""
    relabelled: tuple[int, int] = (0, 0)
    """Rows seen again with another label, and rows seen again."""
    steps: int = 0

    @overload
    def of(self, kind: type[A], /) -> list[A]: ...
    @overload
    def of(self, first: type[A], second: type[B], /) -> list[A | B]: ...
    @overload
    def of(self, first: type[A], second: type[B], third: type[C], /) -> list[A | B | C]: ...
    def of(self, *kinds: type[Event]) -> list[Any]:
        """The events of up to three kinds, in order."""
        return [event for event in self.events if isinstance(event, kinds)]

    def forwards(self) -> list[Forward]:
        """The forward passes with gradients."""
        return [event for event in self.of(Forward) if event.grad]

    def graphs(self) -> list[tuple[Backward, GraphFacts]]:
        """The backward passes whose autograd graph was looked at."""
        return [(event, event.graph) for event in self.of(Backward) if event.graph is not None]

    def optimised(self) -> set[int]:
        """Keys of the parameters that some optimiser holds."""
        return {key for event in self.of(OptimiserEvent) for key in event.parameters}


class Finding(records.Record):
    """A bug: what is wrong, in which line, by which numbers, and the change that mends it."""

    bug: str = ""
    """The check that found it; `findings` fills it in."""
    severity: Literal["error", "warning", "info"] = "warning"
    confidence: Literal["exact", "heuristic"] = "heuristic"
    where: str
    module: str | None = None
    """The guilty module by its dotted name within the network, where one is known."""
    evidence: str
    why: str
    fix: str
    also: Annotated[tuple[str, ...], Field(exclude=True)] = ()
    """Other lines that take part; an allowance on any of them counts."""
    explains: Annotated[tuple[str, ...], Field(exclude=True)] = ()
    """Bugs that are only consequences of this one."""

    def view(self) -> Iterable[Block]:
        line = f"{self.where}: " if self.where else ""
        yield Text(
            text=f"{line}{self.severity}: {self.bug} ({self.confidence})",
            style="note" if self.severity == "info" else self.severity,
        )
        yield Text(text=f"  {self.evidence}.\n  Why: {self.why}.\n  Fix: {self.fix}.")


Check: TypeAlias = Callable[[Trace], Iterator[Finding]]


@cache
def get(name: str) -> Check:
    """The check of that name, or the user's own from `./mine.py:name`."""
    return plugins.function("checks", name)


def findings(name: str, trace: Trace) -> list[Finding]:
    """What one check finds in a trace, with its name as the bug."""
    return [finding.model_copy(update={"bug": name}) for finding in get(name)(trace)]


def lines(events: Iterable[Event | Waiting]) -> tuple[str, ...]:
    """The different lines of some events."""
    return tuple(dict.fromkeys(event.where for event in events))


def first_tensor(value: Any) -> "Tensor | None":
    """The first tensor in nested lists, tuples and dictionaries: in what a network was given or returned."""
    from torch import Tensor

    if isinstance(value, Tensor):
        return value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return next((found for part in parts if (found := first_tensor(part)) is not None), None)
