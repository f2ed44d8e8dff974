"""Softmax twice: the criterion applies it itself and gets probabilities (or sigmoids) instead of scores."""

from vitruvius.checks import Criterion, Finding, Findings, Trace, training
from vitruvius.checks._activations import without_activation

SICK = training(
    "x = torch.randn(8, 3)",
    "F.cross_entropy(net(x), x.argmax(1)).backward()  # here",
    net="nn.Sequential(nn.Linear(3, 4), nn.Softmax(1))",
)
HEALTHY = SICK.replace(", nn.Softmax(1)", "")


def double_softmax(trace: Trace) -> Findings:
    """Cross-entropy whose rows are distributions already, in every batch that was looked at."""
    looked = [event for event in trace.of(Criterion) if event.name == "cross_entropy"]
    looked = [event for event in looked if event.probabilities is not None and event.classes > 1]
    for line, here in trace.grouped(looked, "where").items():
        plain, logarithm = all(e.probabilities for e in here), all(e.log_probabilities for e in here)
        if plain or logarithm:
            what = "softmax" if plain else "log-softmax"
            yield _finding(line, f"in all {len(here)} batches looked at, every row is a {what} already", what)
            return
    twice = [event for event, graph in trace.graphs() if graph.softmax_twice]
    if twice and len(twice) == len(trace.graphs()):
        losses = [event for event in trace.of(Criterion) if event.name == "nll_loss"]
        where = losses[0].where if losses else twice[0].where
        yield _finding(where, "the log-softmax before the criterion is taken of a softmax", "softmax")
        return
    twice = [event for event, graph in trace.graphs() if graph.sigmoid_twice]
    if twice:
        losses = [e for e in trace.of(Criterion) if e.name == "binary_cross_entropy_with_logits"]
        where = losses[0].where if losses else twice[0].where
        evidence = "the scores of binary_cross_entropy_with_logits come out of a sigmoid"
        yield _finding(where, evidence, "sigmoid")


def _finding(where: str, evidence: str, what: str) -> Finding:
    harmless = what == "log-softmax"
    return Finding(
        where=where,
        evidence=evidence,
        why=f"the criterion applies {what} itself; "
        + ("twice changes nothing but hides the intent" if harmless else "twice flattens the gradient"),
        fix=f"remove the {what} from the network and give the criterion raw scores",
        patch=None if harmless else without_activation(where, what),
        severity="info" if harmless else "error",
        confidence="exact",
        explains=() if harmless else ("rate_too_low", "vanishing"),
    )
