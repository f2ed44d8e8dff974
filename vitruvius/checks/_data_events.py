"""Events of what surrounds a training: copies of the network, evaluations, data loaders, numbers read."""

from dataclasses import dataclass

from vitruvius.checks._event import Event


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
    loads: int  # times that load_state_dict has made it equal to the trained network
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
    compared: bool  # its outputs were compared with targets by a loss function
    own_scale: str = ""
    """By which statistics of their own all inputs of an evaluation are scaled; empty if by none."""
    shifted_rows: float = 0.0  # fraction of the rows that hold a piece of a trained row at another place


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetColumn(Event):
    """A column of the input has been the targets in all training batches."""

    network: int
    column: int
    rows: int
    equal: bool = True  # otherwise it is the targets times a factor plus a number


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderUsed(Event):
    """A DataLoader was iterated over, first at this line."""

    loader: int
    built: str  # the line that built it, empty if it was built before the watching began
    epochs: int
    batches: int  # batches whose times are known
    late: int  # those of them that took 1.5 times the work on the batch before, and 2 ms
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
    grouped: bool  # a process group of torch.distributed exists, perhaps of one process only
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
