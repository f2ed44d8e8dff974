"""A softmax, a logarithm of one or an argmax runs over the wrong axis."""

from vitruvius.checks import (
    Criterion,
    Finding,
    Findings,
    Prediction,
    SoftmaxTaken,
    Trace,
    exact_error,
    named,
    training,
)
from vitruvius.checks._mixing import mixed

LESSON = "attention"
SICK = training(
    "x = torch.randn(4, 5, 8)",
    "q = net(x)",
    "weights = (q @ q.transpose(1, 2) / 8**0.5).softmax(dim=1)  # here",
    "(weights @ q - x).square().mean().backward()",
    net="nn.Linear(8, 8)",
)
HEALTHY = SICK.replace("dim=1", "dim=-1")


def wrong_axis(trace: Trace) -> Findings:
    """Attention weights, log-probabilities and predicted classes: each has one right axis."""
    yield from _attention(trace)
    yield from _criterion(trace)
    yield from _prediction(trace)
    yield from _over_rows(trace)
    yield from _of_one(trace)


def _over_rows(trace: Trace) -> Findings:
    """A softmax over the batch inside a network whose rows influence each other."""
    taken = [event for event in trace.of(SoftmaxTaken) if event.axis == 0 and len(event.shape) > 1]
    taken = [event for event in taken if event.module and event.shape[0] > 1]
    mixing = [specimen for specimen, _ in mixed(trace)] if taken else []
    rows = {specimen.example.rows: type(specimen.model).__name__ for specimen in mixing}
    for event in taken:
        if event.shape[0] in rows:
            yield exact_error(
                where=event.where,
                module=named(trace, event.module),
                evidence=f"the softmax of {list(event.shape)} runs over axis 0, the rows of the batch, and "
                f"the output of one row of {rows[event.shape[0]]} changes with the others",
                why="the weights of a row then do not sum to 1: the rows of a batch compete for them",
                fix="softmax over the axis that is weighed: dim=-1 or dim=1",
                explains=("rate_too_low",),
            )
            return


def _of_one(trace: Trace) -> Findings:
    """A softmax over an axis of length one: all weights are 1."""
    taken = [event for event in trace.of(SoftmaxTaken) if event.own and len(event.shape) > 1]
    for line, here in trace.grouped(taken, "where").items():
        if len(here) > 2 and all(event.shape[event.axis] == 1 < max(event.shape[1:]) for event in here):
            first = here[0]
            yield Finding(
                where=line,
                module=named(trace, first.module),
                evidence=f"the softmax of {list(first.shape)} runs over axis {first.axis}, which has length "
                f"1, in all {len(here)} calls looked at",
                why="a softmax over one number is 1, whatever the scores are: they are never learnt",
                fix="softmax over the axis that is weighed (the tokens: dim=1)",
                confidence="exact",
            )
            return


def _attention(trace: Trace) -> Findings:
    found = [(event, graph.query_softmax) for event, graph in trace.graphs() if graph.query_softmax]
    for event, (where, module, axis, over_queries) in found[:1]:
        what = "queries" if over_queries else "heads or rows of the batch"
        yield Finding(
            where=where or event.where,
            module=named(trace, module),
            also=(event.where,),
            evidence=f"the softmax of the attention scores runs over the {what} (dim={-1 - axis}), the sum "
            "that follows over the keys",
            why="the weights of a query then do not sum to 1: how much it gets depends on the other queries",
            fix="softmax(dim=-1): over the keys",
            severity="error" if over_queries else "warning",
            confidence="exact" if over_queries else "heuristic",
            explains=("rate_too_low",),
        )


def _criterion(trace: Trace) -> Findings:
    """Predictions that are distributions along another axis than that of the classes."""
    looked = [event for event in trace.of(Criterion) if event.details and len(event.scores) > 1]
    ends = [event for event in looked if event.details and event.details.last_axis and event.grad]
    for event in ends[:1]:
        yield Finding(
            where=event.where,
            evidence=f"the scores {list(event.scores)} come from a linear layer, whose classes are the last "
            f"axis; {event.name} takes axis 1 for the classes, which happens to be as long",
            why="the loss compares places instead of classes, and nothing complains",
            fix=f"{event.name}(scores.transpose(1, 2), target), or flatten rows and places",
            explains=("rate_too_low",),
        )
        return
    for line, here in trace.grouped(looked, "where").items():
        axes = [_axis(event) for event in here]
        if axes[0] is None or set(axes) != {axes[0]} or len({event.scores for event in here}) > 3:
            continue
        event = here[0]
        yield exact_error(
            where=line,
            evidence=f"the predictions {list(event.scores)} sum to 1 along axis {axes[0]}, in all "
            f"{len(here)} batches looked at, not along that of the classes",
            why="a softmax over the rows lets the samples of a batch compete, and says nothing about the "
            "classes",
            fix="softmax or log_softmax over the classes: dim=1 (dim=-1 for kl_div)",
            explains=("rate_too_low", "initial_loss"),
        )


def _axis(event: Criterion) -> int | None:
    """The wrong axis along which predictions are distributions; None if there is none."""
    facts = event.details
    if facts is None or event.name not in ("nll_loss", "kl_div", "cross_entropy"):
        return None
    axes = {*facts.distribution_axes, *facts.logarithm_axes}
    right = {1} if event.name != "kl_div" else {*range(1, len(event.scores))}
    return min(axes) if axes and not axes & right else None


def _prediction(trace: Trace) -> Findings:
    """The class is looked for among the rows: argmax(0), or argmax of all scores."""
    losses = [event for event in trace.of(Criterion) if event.name in ("cross_entropy", "nll_loss")]
    classifying = {
        event.scores[1:] for event in losses if event.target == (event.scores[:1] + event.scores[2:])
    }
    # Where a loss had another number of rows than of classes, it is known which axis is which.
    told = {event.scores[1:] for event in losses if len(event.scores) == 2 and len(set(event.scores)) == 2}
    found = [event for event in trace.of(Prediction) if event.scores[1:] in classifying]
    for line, here in trace.grouped(found, "where").items():
        event = here[0]
        # Pairs are compared in both directions, and equal sizes may have changed places.
        alike = event.axis is not None and event.scores[event.axis] == event.scores[1]
        alike = alike and not (event.scores[1:] in told and all(other.as_made for other in here))
        if any(other.axis == 1 for other in here) or alike:
            continue
        over = "all scores" if event.axis is None else f"axis {event.axis}"
        yield Finding(
            where=line,
            evidence=f"the largest of the scores {list(event.scores)} is looked for over {over}; the loss "
            "has its classes on axis 1",
            why="the index found is no class, and a comparison with the labels broadcasts without an error",
            fix="argmax(dim=1)",
        )
        return
