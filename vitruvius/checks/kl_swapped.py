"""The arguments of kl_div are swapped: the targets are logarithms, or only they have a gradient."""

from vitruvius.checks import Criterion, CriterionDetails, Finding, Findings, Trace, training

SICK = training(
    "x = torch.randn(8, 3)",
    "F.kl_div(x.log_softmax(1), net(x).softmax(1), reduction='batchmean').backward()  # here",
    net="nn.Linear(3, 3)",
)
HEALTHY = SICK.replace("x.log_softmax(1), net(x).softmax(1)", "net(x).log_softmax(1), x.softmax(1)")


def kl_swapped(trace: Trace) -> Findings:
    """Targets below zero without log_target=True, or a gradient for the targets only."""
    looked = [event for event in trace.of(Criterion) if event.name == "kl_div" and event.grad]
    for line, here in trace.grouped(looked, "where").items():
        known = [event.details for event in here if event.details]
        logarithms = known and all(d.target_negative and not d.log_target for d in known)
        if logarithms:
            yield _finding(
                line, "the second argument has negative entries, and log_target is not set", known, True
            )
        elif known and all(d.target_grad and not d.scores_grad for d in known):
            yield _finding(line, "only the second argument has a gradient", known, False)


def _finding(where: str, evidence: str, known: list[CriterionDetails], proven: bool) -> Finding:
    plain = all(facts.distribution_axes for facts in known)
    return Finding(
        where=where,
        evidence=f"{evidence} (in all {len(known)} batches looked at)"
        + ("; the first is a distribution without the logarithm" if plain else ""),
        why="kl_div(input, target) is the divergence of input from target: logarithms of what learns come "
        "first, probabilities of what it shall match second",
        fix="F.kl_div(student.log_softmax(1), teacher.softmax(1), reduction='batchmean'); with logarithms of "
        "the target too, log_target=True",
        severity="error" if proven else "warning",
        confidence="exact" if proven else "heuristic",
        explains=("non_finite", "nan_source", "rate_too_low", "rate_too_high", "kl_of_probabilities"),
    )
