"""A ReLU, sigmoid or tanh squeezes the scores before a loss that expects them raw."""

from vitruvius.checks import (
    Criterion,
    CriterionDetails,
    Finding,
    Findings,
    Trace,
    exact_note,
    named,
    training,
)
from vitruvius.checks._layers import built_at

SICK = training(
    "x = torch.randn(8, 3)",
    "F.cross_entropy(net(x), x.argmax(1)).backward()",
    net="nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 4), nn.ReLU())  # here",
)
HEALTHY = SICK.replace(", nn.ReLU())", ")")
RAW = ("cross_entropy", "binary_cross_entropy_with_logits")
RANGES = {
    "relu": "[0, inf)",
    "sigmoid": "[0, 1]",
    "softmax": "[0, 1]",
    "relu6": "a bounded interval",
    "tanh": "[-1, 1]",
    "gelu": "(-0.2, inf)",
    "silu": "(-0.3, inf)",
    "softplus": "(0, inf)",
    "elu": "(-1, inf)",
    "abs": "[0, inf)",
    "exp": "(0, inf)",
    "logsigmoid": "(-inf, 0)",
}
UNREACHED = 0.1  # fraction of the targets of a regression
PROVEN = ("relu", "sigmoid", "softmax", "relu6")  # the others may be meant


def activation_on_logits(trace: Trace) -> Findings:
    """The operation that made the scores of a criterion, in every batch that was looked at."""
    looked = [event for event in trace.of(Criterion) if event.name in RAW and event.grad and event.details]
    yield from _unreachable(trace)
    for line, here in trace.grouped(looked, "where").items():
        operations = {event.details.made_by for event in here if event.details}
        event, facts = here[0], here[0].details
        operation = facts.made_by if facts else ""
        if facts is None or len(operations) != 1 or operation not in RANGES:
            continue
        in_module = named(trace, facts.module)
        if _is_softmax_twice(event):
            yield from _place(trace, line, operation, facts)
            continue
        proven = operation in PROVEN
        yield Finding(
            where=_place_of(trace, line, facts),
            also=(line, facts.made_at),
            module=in_module,
            evidence=f"the scores of {event.name} come out of {operation}, so they lie in "
            f"{RANGES[operation]}, in all {len(here)} batches looked at",
            why="the criterion applies softmax or sigmoid itself: squeezed scores cannot say 'very "
            "unlikely', and cut ones have no gradient",
            fix=f"remove the {operation} after the last layer: the criterion takes raw scores",
            severity="error" if proven else "warning",
            confidence="exact" if proven else "heuristic",
            explains=("rate_too_low", "vanishing", "dead_relu", "initial_loss", "saturated"),
        )


def _place(trace: Trace, line: str, operation: str, facts: CriterionDetails) -> Findings:
    """Where the activation stands that `double_softmax` speaks of: in another line or module, a note."""
    module = named(trace, facts.module)
    if module or facts.made_at not in ("", line):
        yield exact_note(
            where=_place_of(trace, line, facts),
            also=(line,),
            module=module,
            evidence=f"the {operation} that the criterion at line {line.rpartition(':')[2]} is given is here",
            why="the criterion applies it itself",
            fix=f"remove this {operation}, and apply it where probabilities are wanted",
        )


def _place_of(trace: Trace, line: str, facts: CriterionDetails) -> str:
    """The line of an activation: that of the module, or where the user's code applies it."""
    in_module = named(trace, facts.module)
    return (built_at(trace, in_module) if in_module else facts.made_at) or line


def _unreachable(trace: Trace) -> Findings:
    """Targets of a regression that the activation behind the predictions cannot reach."""
    looked = [event for event in trace.of(Criterion) if event.grad and event.details]
    for line, here in trace.grouped(looked, "where").items():
        known = [event.details for event in here if event.details]
        share = sum(facts.outside for facts in known) / len(known)
        if len(known) < 2 or min(facts.outside for facts in known) <= 0 or share < UNREACHED:
            continue
        facts = known[0]
        in_module = named(trace, facts.module)
        yield Finding(
            where=_place_of(trace, line, facts),
            also=(line, facts.made_at),
            module=in_module,
            evidence=f"the predictions come out of {facts.made_by}, so they lie in "
            f"{RANGES[facts.made_by]}, and {share:.0%} of the targets do not",
            why="no weight brings a prediction to such a target; where a ReLU is 0 there is no gradient",
            fix=f"remove the {facts.made_by} after the last layer, or scale the targets into its range",
            confidence="exact",
            explains=("rate_too_low", "dead_relu", "saturated", "vanishing", "rate_too_high"),
        )
        return


def _is_softmax_twice(event: Criterion) -> bool:
    """Whether `double_softmax` says it: cross-entropy of distributions, or a sigmoid before one."""
    made_by = event.details.made_by if event.details else ""
    binary = event.name != "cross_entropy"
    return bool(event.probabilities) or (made_by == "sigmoid" and binary)
