"""The events of a training: one frozen dataclass for each kind, its facts as fields.

A fact that was not looked at is None. Networks, parameters and optimisers are named by a key: the `id` of the
object, or a number that the watcher gave it.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that the training did."""

    step: int
    """Optimiser steps done before."""
    where: str
    """`file:line` of the user's code, empty if none was running."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A backward pass that reached an optimiser's parameters and that no step has followed yet."""

    where: str
    operation: str
    """The operation that made the loss, as in `Backward`."""
    batch: int


@dataclass(slots=True)
class GraphFacts:
    """What the autograd graph below a loss contains."""

    leaves: set[int] = field(default_factory=set)
    """Keys of the tensors that the gradient reaches."""
    dead: list[tuple[float, int]] = field(default_factory=list)
    """For each ReLU: fraction of units that are zero on the whole batch, and the number of units."""
    saturated: list[tuple[float, int]] = field(default_factory=list)
    """For each hidden tanh or sigmoid: fraction of values within 1 % of a bound, and the number of values."""
    zero_derivative: str = ""
    """The first operation whose derivative is zero (round, sign, ...)."""
    sigmoid_twice: bool = False
    """A sigmoid feeds binary_cross_entropy_with_logits, which applies one itself."""
    summed_rows: int = 0
    """Rows that the last operation adds up; 0 if it is no sum."""
    broadcast: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    """A difference to a constant that has more elements than its operand: shape before and after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimiserEvent(Event):
    """An optimiser was built or has stepped."""

    optimiser: int
    name: str
    """Its class."""
    lr: float
    """The largest learning rate of its groups."""
    momentum: bool
    """It keeps a state: momentum or betas."""
    decayed: tuple[int, ...]
    """Keys of the parameters with weight decay."""
    parameters: tuple[int, ...]
    """Keys of all its parameters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimiserBuilt(OptimiserEvent):
    """An optimiser was built."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(OptimiserEvent):
    """An optimiser has stepped."""

    update_ratios: tuple[float, ...] | None = None
    """Norm of the update over the norm of the weight, for a few of its parameters."""
    cleared: bool = False
    """All gradients were None or zero."""
    zeroed: bool = False
    """They were computed and then zeroed."""
    repeated: bool = False
    """No gradient is new since its last step."""
    stale: int = 0
    """Parameters whose gradient contains one that an earlier step has used."""
    waiting: tuple[Waiting, ...] = ()
    """The backward passes whose gradients it applies."""
    gradient_scale: float = 1.0
    """Norm of a gradient now over its norm after the backward pass: other than 1 if scaled by hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forward(Event):
    """A network has run: a module with parameters that no other module called."""

    network: int
    name: str
    """Its class."""
    function: str
    """The function of the user's code that called it."""
    training: bool
    """It was in training mode."""
    grad: bool
    """Gradients were recorded."""
    batch: int
    """Hash of the input rows: equal batches have equal numbers."""
    rows: int
    """Rows that were hashed."""
    size: int
    """Rows of the input; 0 if it has no batch axis."""
    single_input: bool
    """It was called with one argument."""
    trained_rows: int
    """Hashed rows that a backward pass had used before."""
    training_module: str
    """Path of the first dropout or BatchNorm module that ran in training mode."""
    eval_module: str
    """Path of the first dropout or BatchNorm module that ran in eval mode."""
    batch_norm: str
    """Path of the first BatchNorm module that ran in training mode."""
    updates_statistics: bool
    """torch.optim.swa_utils called it to recompute BatchNorm statistics."""
    first_input: tuple[float, float, float] | None
    """Mean, standard deviation and largest magnitude of the input of the first layer with weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion(Event):
    """A loss function of torch.nn.functional was called."""

    name: str
    reduction: str
    grad: bool
    """The last forward pass recorded gradients."""
    scores: tuple[int, ...]
    """Shape of the predictions."""
    classes: int
    """Size of their second axis; 1 if there is none."""
    target: tuple[int, ...] | None = None
    """Shape of the targets; None if they are no tensor."""
    labels: tuple[float, float, int] | None = None
    """Smallest and largest label, and how many there are."""
    value: float | None = None
    """The loss, if it is one number."""
    probabilities: bool | None = None
    """Every row of the predictions is a distribution."""
    log_probabilities: bool | None = None
    """Every row of the predictions is the logarithm of a distribution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backward(Event):
    """A backward pass has begun."""

    operation: str
    """The operation that made the loss (MeanBackward0, ...); for a sum of terms, that of the first term."""
    network: int
    """The network that ran last, 0 if none did."""
    batch: int
    """The batch that it was given."""
    value: float | None = None
    """The loss, if it is one finite number."""
    graph: GraphFacts | None = None
    is_leaf: bool | None = None
    """The loss has no autograd graph."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gradients(Event):
    """Gradients after a backward pass."""

    rms: dict[int, float]
    """Root mean square of the gradient of each weight matrix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AutogradGrad(Event):
    """torch.autograd.grad was called."""

    inputs: tuple[int, ...]
    """Keys of the tensors that it differentiates for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroGrad(Event):
    """Gradients of an optimiser's parameters were zeroed."""

    optimiser: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientsDropped(Event):
    """Gradients were zeroed or set to None before any step used them."""

    optimiser: int
    lines: tuple[str, ...]
    """The lines of their backward passes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restarted(Event):
    """An optimiser was built for weights that were reset since an earlier optimiser moved them."""

    optimiser: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerStep(Event):
    """A learning-rate scheduler has stepped."""

    optimiser: int
    lr: float
    """The largest learning rate that it has set."""
    optimiser_steps: int | None
    """Steps that its optimiser has made."""


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

    dim: int
    """Number of axes of the query."""
    dropout: float
    direct: bool
    """Called by the user's own code, not by a library."""
    device: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NonFinite(Event):
    """The loss is NaN or infinite for the first time."""

    origin: str
    """Where that begins: the weights, the input, a module, the network or the loss."""
