"""Events of single operations: attention, masks, reshapes, targets, NaN, and calls that have failed."""

from dataclasses import dataclass

from vitruvius.checks._event import Event


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
class SoftmaxTaken(Event):
    """A softmax was taken of a tensor that requires a gradient."""

    axis: int
    shape: tuple[int, ...]
    module: str  # the innermost module that was running, empty if none was
    own: bool  # the user's own code called it, not a library


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction(Event):
    """The largest of the scores that a criterion was given was looked for."""

    axis: int | None  # along which axis; None: among all
    scores: tuple[int, ...]
    as_made: bool = False  # the numbers lie in memory in the order of the axes: none has changed places


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets(Event):
    """What a criterion compared with the output for a sequence."""

    shift: int | None  # how many steps later in the input they are
    padding: float | None = None  # the number that fills up the rows
    padded: float = 0.0  # the fraction of the targets that are such
    declared: bool = False  # the network's embedding or mask says that it is padding
    is_sorted: bool = False  # the rows are sorted, so that their ends may be alike by chance
    numbers: bool = False  # they are the numbers of a regression, not classes
    length: int = 0  # places of a row of numbers


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
    """A tensor that a backward pass needs was changed in place: it failed, or it took the wrong values."""

    operation: str  # the operation that changed it, empty if it was not seen
    error: str  # what torch said; empty if the change went round autograd, which then noticed nothing
    maker: str = ""  # the operation whose result was changed so
    stepped: str = ""  # line of the optimiser's step that changed a weight which the pass needs


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchNormFailed(Event):
    """BatchNorm in training mode has refused a batch with one value per channel."""

    module: str
    shape: tuple[int, ...]
