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

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from os.path import commonprefix
from typing import TypeAlias

from vitruvius.checks._data_events import EvaluationInputs, LoaderUsed, NumbersRead, TargetColumn, Twin
from vitruvius.checks._event import Event, UnknownFact
from vitruvius.checks._finding import Finding, quoted, shown_location
from vitruvius.checks._operation_events import (
    Argmax,
    Attention,
    BatchNormFailed,
    CriterionFailed,
    DropoutInEval,
    DropsEverything,
    InplaceChange,
    Mask,
    NanSource,
    NonFinite,
    Prediction,
    Reshaped,
    SoftmaxTaken,
    Targets,
)
from vitruvius.checks._trace import Example, Parameter, Trace, first_tensor, input_name
from vitruvius.checks._training_events import (
    AutogradGrad,
    Backward,
    Clip,
    Criterion,
    CriterionDetails,
    Forward,
    Gradients,
    GradientsDropped,
    GraphFacts,
    GraphsKept,
    OptimiserBuilt,
    OptimiserEvent,
    Restarted,
    ScalerFailed,
    SchedulerStep,
    StateCarried,
    Step,
    Units,
    Waiting,
    ZeroGrad,
)
from vitruvius.core import plugins

__all__ = [
    "Argmax",
    "Attention",
    "AutogradGrad",
    "BATCH",
    "Backward",
    "BatchNormFailed",
    "Check",
    "Clip",
    "Criterion",
    "CriterionDetails",
    "CriterionFailed",
    "DropoutInEval",
    "DropsEverything",
    "EvaluationInputs",
    "Event",
    "Example",
    "Finding",
    "Findings",
    "Forward",
    "Gradients",
    "GradientsDropped",
    "GraphFacts",
    "GraphsKept",
    "InplaceChange",
    "LoaderUsed",
    "Mask",
    "NanSource",
    "NonFinite",
    "NumbersRead",
    "OptimiserBuilt",
    "OptimiserEvent",
    "Parameter",
    "Prediction",
    "Reshaped",
    "Restarted",
    "SGD",
    "ScalerFailed",
    "SchedulerStep",
    "SoftmaxTaken",
    "StateCarried",
    "Step",
    "TargetColumn",
    "Targets",
    "Trace",
    "Twin",
    "Units",
    "UnknownFact",
    "Waiting",
    "ZeroGrad",
    "exact_error",
    "exact_note",
    "findings",
    "first_tensor",
    "get",
    "holding",
    "input_name",
    "lines",
    "named",
    "quoted",
    "shown_location",
    "training",
]

exact_error = partial(Finding, severity="error", confidence="exact")
exact_note = partial(Finding, severity="info", confidence="exact")
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
