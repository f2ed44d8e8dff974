"""Dropout on the scores themselves, or dropout that drops everything."""

from vitruvius.checks import (
    Criterion,
    DropsEverything,
    Finding,
    Findings,
    Trace,
    exact_error,
    named,
    training,
)
from vitruvius.checks._layers import built_at

SICK = training(
    "x = torch.randn(8, 3)",
    "F.cross_entropy(net(x), x.argmax(1)).backward()",
    net="nn.Sequential(nn.Linear(3, 8), nn.GELU(), nn.Linear(8, 3), nn.Dropout(0.3))  # here",
)
HEALTHY = SICK.replace("nn.Linear(8, 3), nn.Dropout(0.3)", "nn.Dropout(0.3), nn.Linear(8, 3)")


def dropout_at_output(trace: Trace) -> Findings:
    """Predictions that dropout made, in every batch that was looked at; and dropout with p = 1."""
    for event in trace.of(DropsEverything)[:1]:
        yield exact_error(
            where=event.where,
            module=named(trace, event.module),
            evidence="dropout with p = 1 replaces every number by zero while training",
            why="nothing of the input and no gradient passes this layer",
            fix="p is the share that is dropped, not the share that is kept: 0.1 to 0.5",
            explains=("vanishing", "rate_too_low", "frozen", "detached_loss", "symmetric_init"),
        )
        return
    looked = [event for event in trace.of(Criterion) if event.grad and event.details]
    for line, here in trace.grouped(looked, "where").items():
        known = [event.details for event in here if event.details]
        if any(facts.made_by != "dropout" for facts in known):
            continue
        module = named(trace, known[0].module)
        yield Finding(
            where=(built_at(trace, module) if module else known[0].made_at) or line,
            also=(line, known[0].made_at),
            module=module,
            evidence=f"the predictions that the loss is given come out of dropout, in all {len(known)} "
            "batches looked at",
            why="single predictions are set to zero and the others enlarged: the loss is noise that no "
            "weight can lower",
            fix="dropout before the last linear layer, none after it",
            confidence="exact",
            explains=("rate_too_low",),
        )
