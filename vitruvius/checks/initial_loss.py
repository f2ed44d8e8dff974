"""The first loss of a classifier is far above ln K: it starts by being sure and wrong."""

from math import log

from vitruvius.checks import Criterion, Finding, Findings, Trace, Units, training
from vitruvius.checks._layers import layer_of

SICK = training(
    "x = torch.randn(64, 8)",
    "F.cross_entropy(net(x), x[:, :4].argmax(1)).backward()",
    net="nn.Linear(8, 4)",
    init="nn.init.normal_(net.weight, std=10.0)  # here",
)
HEALTHY = SICK.replace("std=10.0", "std=0.1")
TIMES, ABOVE = 2.0, 1.0


def initial_loss(trace: Trace) -> Findings:
    """The first cross-entropy against that of a uniform guess."""
    losses = [event for event in trace.of(Criterion) if event.name in ("cross_entropy", "nll_loss")]
    first = next((event for event in losses if event.grad), None)
    if first is None or first.step or first.classes < 2 or first.reduction != "mean":
        return
    guess = log(first.classes)
    if first.labels is not None and first.labels == (0, first.classes - 1, first.classes):
        return  # one class for each row, as in a contrastive loss, whose temperature scales the scores
    if first.value is None or first.value < max(TIMES * guess, guess + ABOVE):
        return
    last = Units(1.0, 1, first.details.last_layer if first.details else 0)
    module, line = layer_of(trace, last)
    yield Finding(
        where=line or first.where,
        module=module,
        also=(first.where,),
        evidence=f"the first loss is {first.value:.3g}; a uniform guess over {first.classes} classes has "
        f"ln {first.classes} = {guess:.3g}",
        why="the first scores are too large: early steps only undo the initialisation",
        fix="smaller initial weights in the last layer (or embedding), a normalisation before it, scaled "
        "inputs",
    )
