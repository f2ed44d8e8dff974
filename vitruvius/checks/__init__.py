"""Checks: the training bugs that the doctor knows. A member is a generator function named like its file.

`def foo(trace: Trace) -> Findings`. A `Trace` is what a training did: events in order, one frozen dataclass
for each kind with its facts as fields (None: not looked at); the parameters that took part; and one example
batch for each network, for checks that experiment on a copy. Networks, parameters and optimisers are named by
a key, a number that the watcher gave it. A fact that the watcher could not find out is missing: to read it
raises `UnknownFact`, and the check counts as skipped, with the reason. Exact checks may give errors;
heuristics with a threshold give warnings at most. `explains` of a finding names the bugs that are its
consequences.

Each file also holds two small programs as text (`training` writes the usual ones): `SICK`, with the guilty
line marked `# here`, and `HEALTHY`. Laws, tested over the folder: a check fires on SICK at the marked line,
stays silent on HEALTHY, and SICK is missed when only this file is gone.
"""

import linecache
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from os.path import commonprefix
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeAlias, TypeVar

from pydantic import Field

from vitruvius.core import plugins, records
from vitruvius.core.blocks import Block, Text
from vitruvius.core.patch import Patch

if TYPE_CHECKING:
    from torch import Tensor, nn


class UnknownFact(Exception):
    """A check reads what the watcher could not find out: `Forward.batch`, or all `Forward` events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that the training did."""

    step: int  # optimiser steps done before
    where: str  # `file:line` of the user's code, empty if none was running

    if not TYPE_CHECKING:

        def __getattr__(self, fact: str) -> Any:
            """Called for an empty slot only: a fact that is unknown."""
            name = f"{type(self).__name__}.{fact}"
            raise (UnknownFact if fact in self.__dataclass_fields__ else AttributeError)(name)

    @classmethod
    def without(cls, unknown: Iterable[str], **facts: Any) -> Self:
        """The event with these facts, some of which are unknown."""
        placeholders: dict[str, Any] = dict.fromkeys(unknown)
        event = cls(**facts, **placeholders)
        for fact in unknown:
            object.__delattr__(event, fact)
        return event


@dataclass(frozen=True, slots=True)
class Waiting:
    """A backward pass that reached an optimiser's parameters and that no step has followed yet."""

    where: str
    operation: str  # the operation that made the loss, as in `Backward`
    batch: int
    rows: int = 0  # rows of the network's input, 0 if unknown
    factor: float | None = None  # the loss over the value of the last criterion, if both are known


@dataclass(slots=True)
class GraphFacts:
    """What the autograd graph below a loss contains."""

    leaves: set[int] = field(default_factory=set)  # keys of the tensors that the gradient reaches
    dead: list[tuple[float, int]] = field(default_factory=list)
    """For each ReLU: fraction of units that are zero on the whole batch, and the number of units."""
    saturated: list[tuple[float, int]] = field(default_factory=list)
    """For each hidden tanh or sigmoid: fraction of values within 1 % of a bound, and the number of values."""
    zero_derivative: str = ""  # the first operation whose derivative is zero (round, sign, ...)
    softmax_twice: bool = False  # the log-softmax of the loss is taken of a softmax
    sigmoid_twice: bool = False  # a sigmoid feeds binary_cross_entropy_with_logits, which applies one itself
    summed_rows: int = 0  # rows that the last operation adds up; 0 if it is no sum
    broadcast: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    """A difference to a constant that has more elements than its operand: shape before and after."""
    constants: list[tuple[str, float]] = field(default_factory=list)
    """Numbers without a gradient that are added to the loss: line and value."""
    scalar_leaves: list[int] = field(default_factory=list)
    """Keys of the single numbers with requires_grad that are added to the loss."""
    query_softmax: tuple[str, str, int] | None = None
    """A softmax of attention whose axis is not the keys: line, module, and the axis counted from the last."""
    by_hand: tuple[str, str, tuple[int, ...]] | None = None
    """Attention as two products and a softmax: line, module, shape of its weights, and width of a head."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimiserEvent(Event):
    """An optimiser was built or has stepped."""

    optimiser: int
    name: str  # its class
    lr: float  # the largest learning rate of its groups
    momentum: bool  # it keeps a state: momentum or betas
    decayed: tuple[int, ...]  # keys of the parameters with weight decay
    added_decay: float  # the largest weight decay that is added to gradients with betas: L2 inside Adam
    parameters: tuple[int, ...]  # keys of all its parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimiserBuilt(OptimiserEvent):
    """An optimiser was built."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(OptimiserEvent):
    """An optimiser has stepped."""

    update_ratios: tuple[float, ...] | None = None
    """Norm of the update over the norm of the weight, for a few of its parameters."""
    cleared: bool = False  # all gradients were None or zero
    zeroed: bool = False  # they were computed and then zeroed
    repeated: bool = False  # no gradient is new since its last step
    stale: int = 0  # parameters whose gradient contains one that an earlier step has used
    waiting: tuple[Waiting, ...] = ()  # the backward passes whose gradients it applies
    gradient_scale: float = 1.0
    """Norm of a gradient now over its norm after the backward pass: other than 1 if scaled by hand."""
    scaled: float = 1.0  # the factor of a GradScaler that is still in the gradients, if not stepped by it
    never_scaled: int = 0  # backward passes without the factor by which the GradScaler has divided
    shared: int = 0  # gradients that a step of another optimiser has used, unchanged since


@dataclass(frozen=True, slots=True, kw_only=True)
class Forward(Event):
    """A network has run: a module with parameters that no other module called."""

    network: int
    name: str  # its class
    function: str  # the function of the user's code that called it
    training: bool  # it was in training mode
    grad: bool  # gradients were recorded
    batch: int  # hash of the input rows: equal batches have equal numbers
    rows: int  # rows that were hashed
    size: int  # rows of the input; 0 if it has no batch axis
    epoch: int  # a number for the pass over a DataLoader that gave the last batch; 0 if there is none
    single_input: bool  # it was called with one argument
    trained_rows: int  # hashed rows that a backward pass had used before
    training_module: str  # path of the first dropout or BatchNorm module that ran in training mode
    eval_module: str  # path of the first dropout or BatchNorm module that ran in eval mode
    batch_norm: str  # path of the first BatchNorm module that ran in training mode
    updates_statistics: bool  # called by torch.optim.swa_utils to recompute BatchNorm statistics
    first_input: tuple[float, float, float] | None
    """Mean, standard deviation and largest magnitude of the input of the first layer with weights."""
    frozen_norm: str = ""  # path of the first BatchNorm in training mode whose weights need no gradient
    dtypes: tuple[str, str] = ("", "")  # type of the first input and of the first parameter


@dataclass(frozen=True, slots=True)
class CriterionDetails:
    """Costly facts of a call of a loss function."""

    made_by: str  # the operation that made the predictions: relu, sigmoid, tanh, softmax, dropout, or empty
    made_at: str  # its line
    module: str  # its module
    dtype: str  # of the predictions
    target_dtype: str
    scores_grad: bool  # the predictions need a gradient
    target_grad: bool  # the targets do
    distribution_axes: tuple[int, ...]  # axes along which the predictions are distributions
    logarithm_axes: tuple[int, ...]  # axes along which they are logarithms of distributions
    positive: bool  # some prediction is above zero, which no logarithm of a probability is
    target_negative: bool  # some target is below zero
    log_target: bool
    weights: tuple[float, ...]  # weights of the classes, or of the positive labels; empty if none are given
    counts: tuple[int, ...]  # labels of each class; negative and positive labels for binary_cross_entropy


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion(Event):
    """A loss function of torch.nn.functional was called."""

    name: str
    reduction: str
    grad: bool  # the last forward pass recorded gradients
    scores: tuple[int, ...]  # shape of the predictions
    classes: int  # size of their second axis; 1 if there is none
    target: tuple[int, ...] | None = None  # shape of the targets; None if they are no tensor
    labels: tuple[float, float, int] | None = None  # smallest and largest label, and how many there are
    value: float | None = None  # the loss, if it is one number
    probabilities: bool | None = None  # every row of the predictions is a distribution
    log_probabilities: bool | None = None  # every row of the predictions is the logarithm of a distribution
    details: CriterionDetails | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Backward(Event):
    """A backward pass has begun."""

    operation: str
    """The operation that made the loss (MeanBackward0, ...); for a sum of terms, that of the first term."""
    network: int  # the network that ran last, 0 if none did
    batch: int  # the batch that it was given
    value: float | None = None  # the loss, if it is one finite number
    graph: GraphFacts | None = None
    is_leaf: bool | None = None  # the loss has no autograd graph


@dataclass(frozen=True, slots=True, kw_only=True)
class Gradients(Event):
    """Gradients after a backward pass."""

    rms: dict[int, float]  # root mean square of the gradient of each weight matrix
    zeros: dict[int, float] = field(default_factory=dict)  # fraction of zeros in it, where float16 was used


@dataclass(frozen=True, slots=True, kw_only=True)
class AutogradGrad(Event):
    """torch.autograd.grad was called."""

    inputs: tuple[int, ...]  # keys of the tensors that it differentiates for


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroGrad(Event):
    """Gradients of an optimiser's parameters were zeroed."""

    optimiser: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientsDropped(Event):
    """Gradients were zeroed or set to None before any step used them."""

    optimiser: int
    lines: tuple[str, ...]  # the lines of their backward passes


@dataclass(frozen=True, slots=True, kw_only=True)
class Restarted(Event):
    """An optimiser was built for weights that were reset since an earlier optimiser moved them."""

    optimiser: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip(Event):
    """Gradients were clipped by a function of torch.nn.utils."""

    name: str
    optimisers: tuple[int, ...]  # those whose gradients were clipped
    limit: float
    norm: float | None  # norm before clipping, if looked at
    scaled: float  # the factor of a GradScaler that is still in the gradients; 1 if there is none
    useless: bool  # no backward pass has run since the last step: nothing to clip, or used already


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphsKept(Event):
    """Autograd graphs of several passes exist at the same time."""

    graphs: int  # how many were seen at once
    holder: str  # the line that holds them, empty if unknown
    evaluation: bool  # graphs of forward passes that no backward pass has used; otherwise of losses
    passes: int = 0  # forward passes at that line
    network: int = 0  # the network whose passes they are


@dataclass(frozen=True, slots=True, kw_only=True)
class StateCarried(Event):
    """The graph of a loss goes on into a pass of an earlier step."""

    network: int
    holder: str  # the attribute of a module that holds the state, empty if it is an argument


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerStep(Event):
    """A learning-rate scheduler has stepped."""

    optimiser: int
    lr: float  # the largest learning rate that it has set
    optimiser_steps: int | None  # steps that its optimiser has made
    name: str  # its class
    built: str  # the line that built it
    length: int | None  # how many steps it is made for (total_steps, T_max, total_iters), if it says so
    initial: float  # the largest learning rate of its optimiser without it


@dataclass(frozen=True, slots=True, kw_only=True)
class Twin(Event):
    """A copy of a trained network that the user's code holds; `where` is a line that updates it."""

    name: str  # the variable or attribute
    optimiser: int  # of the trained network
    network: int  # key of the copy if it is a module, otherwise 0
    trained: int  # key of a parameter of the trained network
    parameters: tuple[int, ...]  # keys of the copy's parameters
    reached: int  # parameters of the copy at which backward passes arrived
    fraction: float | None
    """The part of the way to the trained weights that an update goes: 1 - decay, 1 for a plain copy."""
    follows: int  # updates that were seen
    observed: int  # times between two steps that were looked at
    stands: bool  # it is as it was in the beginning, and the trained network is not


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationInputs(Event):
    """What a network was given at one line without gradients, beside what it was trained on."""

    network: int
    passes: int
    steps: int  # different steps at which inputs were looked at
    scales: tuple[tuple[float, float], ...]  # mean and standard deviation of some inputs
    trained: tuple[tuple[float, float], ...]  # the same of training batches
    same: int  # batches that came again, with the same targets and the same inputs
    changed: int  # batches that came again with the same targets and other inputs


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetColumn(Event):
    """A column of the input has equalled the targets in all training batches."""

    network: int
    column: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderUsed(Event):
    """A DataLoader was iterated over, first at this line."""

    loader: int
    epochs: int
    batches: int  # batches whose times are known
    waited: float  # seconds until it gave a batch (median)
    computed: float  # seconds between two batches (median)
    trained: int  # batches that a network ran on with gradients
    evaluated: int  # and without
    same: int  # evaluated rows that came again as they were
    changed: int  # evaluated rows that came again with other values
    workers: int
    sampler: str  # its class
    dataset: str  # its class
    processes: int  # of torch.distributed
    generator: str  # the attribute with a random generator that all workers get a copy of
    same_seed: bool  # its worker_init_fn gives all workers one seed
    shuffles: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NumbersRead(Event):
    """Numbers were read from tensors at this line, by item() or tolist()."""

    count: int
    steps: int  # different steps at which that happened
    seconds: float
    device: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DropoutInEval(Event):
    """Functional dropout was active inside a module that is in eval mode."""

    p: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Argmax(Event):
    """argmax was taken of a tensor that requires a gradient."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention(Event):
    """scaled_dot_product_attention was called."""

    dim: int  # number of axes of the query
    dropout: float
    direct: bool  # called by the user's own code, not by a library
    device: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NonFinite(Event):
    """The loss is NaN or infinite for the first time."""

    origin: str  # where that begins: the weights, the input, a module, the network or the loss


@dataclass(frozen=True, slots=True, kw_only=True)
class NanSource(Event):
    """The operation that made the first NaN or infinity, of a loss or of a gradient."""

    operation: str
    module: str
    count: int  # how many of its numbers
    what: str  # 'of 8 results NaN', 'of 8 at a singular point'
    backward: bool  # the loss was finite, its gradient was not


@dataclass(frozen=True, slots=True, kw_only=True)
class Mask(Event):
    """A mask of attention that looks inverted."""

    argument: str  # attn_mask, key_padding_mask, masked_fill, where, addition
    module: str
    added: bool = False  # zeros and ones are added to the scores
    anti_causal: bool = False  # every token sees later ones only
    hides_tokens: bool = False  # only padding is visible
    emptied: bool = False  # some rows are hidden wholly


@dataclass(frozen=True, slots=True, kw_only=True)
class Reshaped(Event):
    """A view or reshape has torn axes apart, one of which reappears at another place."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    axis: int  # the size of the axis
    module: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction(Event):
    """The largest of the scores that a criterion was given was looked for."""

    axis: int | None  # along which axis; None: among all
    scores: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets(Event):
    """Whole numbers that a criterion compared with the output for a sequence of whole numbers."""

    shift: int | None  # how many steps later in the input they are
    padding: int | None = None  # the number that fills up the rows
    padded: float = 0.0  # the fraction of the targets that are such
    declared: bool = False  # the network's embedding or mask says that it is padding
    is_sorted: bool = False  # the rows are sorted, so that their ends may be alike by chance


@dataclass(frozen=True, slots=True, kw_only=True)
class CriterionFailed(Event):
    """A loss function has raised an error."""

    name: str
    error: str
    scores: tuple[int, ...]
    target: tuple[int, ...]
    labels: tuple[float, float] | None  # smallest and largest label
    whole: bool  # the labels are whole numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class DropsEverything(Event):
    """Dropout with p = 1 was active."""

    module: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InplaceChange(Event):
    """A backward pass failed because a tensor that it needs was changed in place."""

    operation: str  # the operation that changed it, empty if it was not seen
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchNormFailed(Event):
    """BatchNorm in training mode has refused a batch with one value per channel."""

    module: str
    shape: tuple[int, ...]


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
    attribute: str = (
        ""  # the attribute that holds it in a list or dictionary, where parameters() sees nothing
    )


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

    bug: str = ""  # the check that found it; `findings` fills it in
    severity: Literal["error", "warning", "info"] = "warning"
    confidence: Literal["exact", "heuristic"] = "heuristic"
    where: str
    module: str | None = None  # the guilty module by its dotted name within the network, where one is known
    evidence: str
    why: str
    fix: str
    patch: Patch | None = None
    """The edit of the source that mends it, where the source itself shows which: `doctor fix` applies it."""
    also: Annotated[tuple[str, ...], Field(exclude=True)] = ()
    """Other lines that take part; an allowance on any of them counts."""
    explains: Annotated[tuple[str, ...], Field(exclude=True)] = ()
    """Bugs that are only consequences of this one."""

    def source(self) -> str:
        """The guilty line of the source file between its neighbours, with a marker; empty if unknown."""
        return quoted(self.where)

    def change(self) -> str:
        """The guilty line with the lines that go and come in its patch; without a patch the line alone."""
        if self.patch is None:
            return quoted(self.where, around=0)
        file, _, number = self.where.rpartition(":")
        rows = self.patch.rows()
        if self.patch.file == file and not any(line == int(number) for line, _, _ in rows):
            here = (int(number), ">", linecache.getline(file, int(number)).rstrip())
            later = [edit.line > int(number) for edit in self.patch.edits]
            sizes = [len(edit.old) + len(edit.new) for edit in self.patch.edits]
            rows.insert(sum(sizes[: later.index(True)] if any(later) else sizes), here)
        return "\n".join(_row(mark, line, text) for line, mark, text in rows)

    def view(self) -> Iterable[Block]:
        line = f"{shown_place(self.where)}: " if self.where else ""
        style = "note" if self.severity == "info" else self.severity
        module = f" in module {self.module}" if self.module and self.module not in self.evidence else ""
        yield Text(text=f"{line}{self.severity}: {self.bug} ({self.confidence}){module}", style=style)
        if source := self.change():
            yield Text(text=source, style="code")
        yield Text(text=_folded(f"{self.evidence}. Why: {self.why}."))
        if self.patch is None:  # otherwise the lines above say it
            yield Text(text=_folded(f"Fix: {self.fix}."))


def quoted(where: str, around: int = 1) -> str:
    """A line of the source between so many neighbours, with a marker; empty if it is unknown."""
    file, _, number = where.rpartition(":")
    if not number.isdigit() or not linecache.getline(file, int(number)).strip():
        return ""
    lines = range(max(1, int(number) - around), int(number) + around + 1)
    texts = [(line, linecache.getline(file, line).rstrip()) for line in lines]
    return "\n".join(_row(">" * (line == int(number)), line, text) for line, text in texts if text)


def _row(mark: str, line: int, text: str) -> str:
    return f"  {mark or ' '} {line or '':>4} | {text}"


def _folded(text: str) -> str:
    """A sentence as indented lines that fit a terminal of 80 columns."""
    return fill(text, 79, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


def shown_place(where: str) -> str:
    """A `file:line` as a person in the working directory would write it."""
    file, colon, line = where.rpartition(":")
    path = Path(file)
    inside = path.is_absolute() and path.is_relative_to(Path.cwd())
    return f"{path.relative_to(Path.cwd())}{colon}{line}" if inside else where


exact_error = partial(Finding, severity="error", confidence="exact")
Findings: TypeAlias = Iterator[Finding]
Check: TypeAlias = Callable[[Trace], Findings]


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


def named(trace: Trace, path: str) -> str | None:
    """The path itself if a network that was trained has such a module, otherwise None."""
    known = any(path in dict(example.model.named_modules()) for example in trace.examples)
    return path if path and known else None


def holding(parameters: Sequence[str]) -> str | None:
    """The smallest module that holds all these parameters; None if only the whole network does.

    >>> holding(["stem.0.weight", "stem.2.bias"]), holding(["head.weight"]), holding(["a.weight", "b.weight"])
    ('stem', 'head', None)
    """
    return ".".join(commonprefix([name.split(".")[:-1] for name in parameters])) or None


NO_INPUTS = ("label", "target")  # beginnings of keywords that hand labels to a network
SGD = "SGD(net.parameters(), lr=0.01)"
BATCH = "net(torch.randn(8, 3)).square().mean().backward()"


def training(
    *batch: str, net: str = "nn.Linear(3, 1)", init: str = "", optimiser: str = SGD, steps: int = 6
) -> str:
    """A program that trains `net` for some steps; `batch` are the lines between zero_grad() and step()."""
    head = "import torch\nfrom torch import nn\nfrom torch.nn import functional as F"
    setup = [head, f"net = {net}", init, f"optimizer = torch.optim.{optimiser}"]
    loop = [f"for step in range({steps}):", "optimizer.zero_grad()", *(batch or [BATCH]), "optimizer.step()"]
    return "\n".join([*filter(None, setup), "\n    ".join(loop)]) + "\n"
