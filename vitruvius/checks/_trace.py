"""The trace of a training: its events in order, its parameters, and one example batch for each network."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from vitruvius.checks._event import Event, UnknownFact
from vitruvius.checks._training_events import Backward, Forward, GraphFacts, OptimiserEvent

if TYPE_CHECKING:
    from torch import Tensor, nn

NO_INPUTS = ("label", "target")  # beginnings of keywords that hand labels to a network


@dataclass(slots=True)
class Parameter:
    """What is known about one tensor that can learn."""

    name: str = ""  # its path in the network that ran, empty if no network that ran holds it
    layer: str = ""  # the class of the module that holds it
    shape: tuple[int, ...] = ()
    trainable: bool = True
    reached: bool = False  # a backward pass arrived at it
    changed: bool = False  # its value at the end is not its value at the beginning
    alike: bool = False  # all its units were equal at the beginning and at the end
    ran: bool = False  # the module that holds it was called while gradients were recorded
    declared: bool = True  # it is an nn.Parameter, not a plain tensor that requires a gradient
    network: int = 0  # the network that ran and holds it
    initialised: str = ""  # the line of the user's code that set its first values, empty if torch did
    attribute: str = ""
    """The attribute that holds it in a list or dictionary, where parameters() sees nothing."""


@dataclass(slots=True)
class Example:
    """A network that was trained, with one batch that it was given."""

    model: "nn.Module"
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    where: str
    network: int = 0  # its key
    shifted: bool = False  # the targets are the inputs one step later: it predicts what comes next
    time_axis: int = 1  # the axis of that step
    target_shape: tuple[int, ...] = ()
    batches: int = 1  # how many different batches it was given (counted up to 9)

    @property
    def rows(self) -> int:
        """Rows of its first input; 0 if that is no tensor with a batch axis."""
        return len(self.x) if self.x is not None and self.x.dim() else 0

    @property
    def x(self) -> "Tensor | None":
        """Its first input, positional or by keyword; None if that is no tensor."""
        from torch import Tensor

        first = self.args[0] if self.args else self.kwargs.get(input_name(self.kwargs))
        return first if isinstance(first, Tensor) else None

    @property
    def single_input(self) -> bool:
        """Whether it was called with one argument."""
        return len(self.args) + len(self.kwargs) == 1

    def called(self, model: "nn.Module", x: "Tensor") -> Any:
        """What a network returns for another first input and the same further ones."""
        if self.args:
            return model(x, *self.args[1:], **self.kwargs)
        return model(**{**self.kwargs, input_name(self.kwargs): x})


E = TypeVar("E", bound=Event)


@dataclass(slots=True)
class Trace:
    """What a training did, in order."""

    events: list[Event] = field(default_factory=list)
    parameters: dict[int, Parameter] = field(default_factory=dict)
    examples: list[Example] = field(default_factory=list)
    neighbours: tuple[float, float, int] | None = None
    """Fraction of rows whose nearest row has the same label, the same by chance, and the rows compared."""
    ended: bool = True  # the training ended by itself, not because enough steps were watched
    relabelled: tuple[int, int] = (0, 0)  # rows seen again with another label, and rows seen again
    steps: int = 0
    made: dict[int, int] = field(default_factory=dict)  # steps of each optimiser, watched or not
    watched: int = 0  # how many of the steps were watched: all of the first ones, then some in a row
    gap: int = 0  # events before the first step that was not watched, 0 if all were
    unknown: dict[str, str] = field(default_factory=dict)
    """Why facts (`Forward.batch`), all events of a kind (`Forward`) or a field of the trace are unknown."""

    def lose(self, name: str, error: Exception) -> None:
        """Something is unknown because watching it failed; the first reason is kept."""
        self.unknown.setdefault(name, f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise (UnknownFact if name in self.__dataclass_fields__ else AttributeError)(name)

    def of(self, *kinds: type[E]) -> list[E]:
        """The events of some kinds, in order."""
        wanted = [name for kind in kinds for name in (kind, *kind.__subclasses__())]
        lost = [kind.__name__ for kind in wanted if kind.__name__ in self.unknown]
        if lost:
            raise UnknownFact(lost[0])
        return [event for event in self.events if isinstance(event, kinds)]

    @staticmethod
    def grouped(events: Iterable[E], fact: str) -> dict[Any, list[E]]:
        """Some events by one of their facts, `where` or `optimiser`, in the order in which it comes first."""
        found: dict[Any, list[E]] = {}
        for event in events:
            found.setdefault(getattr(event, fact), []).append(event)
        return found

    def unbroken(self) -> "Trace":
        """The same with the events of the first steps only, which were all watched."""
        return replace(self, events=self.events[: self.gap]) if self.gap else self

    def forwards(self) -> list[Forward]:
        """The forward passes with gradients."""
        return [event for event in self.of(Forward) if event.grad]

    def graphs(self) -> list[tuple[Backward, GraphFacts]]:
        """The backward passes whose autograd graph was looked at."""
        return [(event, event.graph) for event in self.of(Backward) if event.graph is not None]

    def optimised(self) -> set[int]:
        """Keys of the parameters that some optimiser holds."""
        return {key for event in self.of(OptimiserEvent) for key in event.parameters}


def input_name(kwargs: dict[str, Any]) -> str:
    """The keyword of the first input of a network that is called by keywords only."""
    from torch import Tensor

    tensors = [name for name, value in kwargs.items() if isinstance(value, Tensor)]
    inputs = [name for name in tensors if not name.startswith(NO_INPUTS) and not name.endswith("mask")]
    return next(iter(inputs or tensors), "")


def first_tensor(value: Any) -> "Tensor | None":
    """The first tensor in nested lists, tuples and dictionaries: in what a network was given or returned."""
    from torch import Tensor

    if isinstance(value, Tensor):
        return value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return next((found for part in parts if (found := first_tensor(part)) is not None), None)
