"""Events of the training itself: forward and backward passes, losses, gradients, optimisers, schedulers."""

from dataclasses import dataclass, field

from vitruvius.checks._event import Event


@dataclass(frozen=True, slots=True)
class Waiting:
    """A backward pass that reached an optimiser's parameters and that no step has followed yet."""

    where: str
    operation: str  # the operation that made the loss, as in `Backward`
    batch: int
    rows: int = 0  # rows of the network's input, 0 if unknown
    factor: float | None = None  # the loss over the value of the last criterion, if both are known
    counted: int = 0  # targets that the criterion has taken a mean over, 0 if unknown


@dataclass(frozen=True, slots=True)
class Units:
    """The units of one activation."""

    share: float  # the fraction of them that do not work
    count: int
    weights: int = 0  # key of the nearest weights before them, 0 if there are none
    where: str = ""  # the line of the user's code that applies the activation, empty if a module does


@dataclass(slots=True)
class GraphFacts:
    """What the autograd graph below a loss contains."""

    leaves: set[int] = field(default_factory=set)  # keys of the tensors that the gradient reaches
    dead: list[Units] = field(default_factory=list)
    """Of each ReLU, the last first: units that are zero on the whole batch."""
    saturated: list[Units] = field(default_factory=list)
    """Of each hidden tanh or sigmoid, the last first: values within 1 % of a bound."""
    zero_derivative: str = ""  # the first operation whose derivative is zero (round, sign, ...)
    zero_at: str = ""  # its line, empty if unknown
    softmax_twice: bool = False  # the log-softmax of the loss is taken of a softmax
    sigmoid_twice: bool = False  # a sigmoid feeds binary_cross_entropy_with_logits, which applies one itself
    summed_rows: int = 0  # rows that the last operation adds up; 0 if it is no sum
    broadcast: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    """A difference to a constant that has more elements than its operand: shape before and after."""
    constants: list[tuple[str, float]] = field(default_factory=list)
    """Numbers without a gradient that are added to the loss: line and value."""
    cut: tuple[str, str, float] | None = None
    """Such a number that comes from a comparison of what has a gradient: line of that, of the sum, value."""
    scalar_leaves: list[int] = field(default_factory=list)
    """Keys of the single numbers with requires_grad that are added to the loss."""
    query_softmax: tuple[str, str, int, bool] | None = None
    """A softmax of attention whose axis is not the keys: line, module, the axis counted from the last, and
    whether that are the queries."""
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
    tiny_eps: bool = False  # its eps is zero in float16, the type of its parameters
    wraps: bool = False  # its step calls that of another optimiser


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
    common: tuple[int, ...] = ()  # keys of the parameters with a gradient that another optimiser holds too


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
    first_layer: str = ""  # path of that layer, where it was looked at
    frozen_norm: str = ""  # path of the first BatchNorm in training mode whose weights need no gradient
    frozen_keys: tuple[int, ...] = ()  # keys of its parameters
    continuous: bool = False  # the rows hold many different fractions, so that they do not recur by chance
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
    outside: float = 0.0  # fraction of the targets that the activation behind the predictions cannot reach
    last_axis: bool = False
    """The classes are on the last of three axes, by the layer that made them, and the second is as long."""
    last_layer: int = 0  # key of the nearest weights before the predictions, 0 if there are none
    target_rows: float | None = None  # how far the rows of floating targets of cross_entropy are from sum 1


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
    rows: int = 0  # rows of the network's input, 0 if unknown
    vocabulary: bool = False  # an embedding of the network has as many rows as there are classes
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
    norm: float | None  # norm before clipping, or the largest value for clip_grad_value_, if looked at
    scaled: float  # the factor of a GradScaler that is still in the gradients; 1 if there is none
    useless: bool  # no backward pass has run since the last step: nothing to clip, or used already


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalerFailed(Event):
    """A GradScaler has refused a call."""

    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphsKept(Event):
    """Autograd graphs of several passes exist at the same time."""

    graphs: int  # how many were seen at once
    holder: str  # the line that holds them, empty if unknown
    evaluation: bool  # graphs of forward passes that no backward pass has used; otherwise of losses
    passes: int = 0  # forward passes at that line
    network: int = 0  # the network whose passes they are
    outputs: bool = False  # what is held are outputs of a network, whose losses were used


@dataclass(frozen=True, slots=True, kw_only=True)
class StateCarried(Event):
    """A network was given its state of an earlier step, or the graph of a loss goes on into that."""

    network: int
    holder: str  # the attribute of a module that holds the state, empty if it is an argument
    detached: bool = False  # without its graph, and from one batch of a loader that shuffles to the next


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerStep(Event):
    """A learning-rate scheduler has stepped."""

    optimiser: int
    lr: float  # the largest learning rate that it has set
    optimiser_steps: int | None  # steps that its optimiser has made
    name: str  # its class
    built: str  # the line that built it
    length: int | None  # how many steps it is made for (total_steps, T_max, total_iters), if it says so
    initial: float  # the largest learning rate of its optimiser without it, or that a cycle rises to
    failed: bool = False  # it has refused: it was stepped more often than it is long
