"""A ReLU, sigmoid or tanh squeezes the scores before a loss that expects them raw."""

from vitruvius.checks import Criterion, Finding, Findings, Trace, lines, named, training

SICK = training(
    "x = torch.randn(8, 3)",
    "F.cross_entropy(net(x), x.argmax(1)).backward()  # here",
    net="nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 4), nn.ReLU())",
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
}
PROVEN = ("relu", "sigmoid", "softmax", "relu6")  # the others may be meant


def activation_on_logits(trace: Trace) -> Findings:
    """The operation that made the scores of a criterion, in every batch that was looked at."""
    looked = [event for event in trace.of(Criterion) if event.name in RAW and event.grad and event.details]
    for line in lines(looked):
        here = [(event, event.details) for event in looked if event.where == line]
        operations = {facts.made_by for _, facts in here if facts}
        event, facts = here[0]
        operation = facts.made_by if facts else ""
        if facts is None or len(operations) != 1 or operation not in RANGES or _is_softmax_twice(event):
            continue
        in_module = named(trace, facts.module)
        proven = operation in PROVEN
        yield Finding(
            where=line if in_module or not facts.made_at else facts.made_at,
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


def _is_softmax_twice(event: Criterion) -> bool:
    """Whether `double_softmax` says it: cross-entropy of distributions, or a sigmoid before one."""
    made_by = event.details.made_by if event.details else ""
    binary = event.name != "cross_entropy"
    return bool(event.probabilities) or (made_by == "sigmoid" and binary)
