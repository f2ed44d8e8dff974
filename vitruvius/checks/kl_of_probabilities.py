"""kl_div gets probabilities, or raw scores, where it expects logarithms of probabilities."""

from vitruvius.checks import Criterion, Finding, Findings, Trace, training

SICK = training(
    "x = torch.randn(8, 3)",
    "F.kl_div(net(x).softmax(1), x.softmax(1), reduction='batchmean').backward()  # here",
    net="nn.Linear(3, 3)",
)
HEALTHY = SICK.replace("net(x).softmax(1)", "net(x).log_softmax(1)")


def kl_of_probabilities(trace: Trace) -> Findings:
    """The first argument of kl_div, in every batch that was looked at."""
    looked = [event for event in trace.of(Criterion) if event.name == "kl_div" and event.details]
    for line, here in trace.grouped(looked, "where").items():
        known = [event.details for event in here if event.details]
        plain = all(facts.distribution_axes for facts in known)
        scores = all(not facts.logarithm_axes and facts.positive for facts in known)
        swapped = any(facts.target_negative and not facts.log_target for facts in known)
        if swapped or not (plain or scores):
            continue
        negative = [event.value for event in here if event.value is not None and event.value < 0]
        said = "is a distribution" if plain else "has positive entries and its exponentials do not sum to 1"
        yield Finding(
            where=line,
            evidence=f"in all {len(here)} batches looked at, the first argument of kl_div {said}"
            + (f"; the value {negative[0]:.3g} is negative, which no divergence is" if negative else ""),
            why="kl_div expects logarithms of probabilities first: this is no divergence, and its gradient "
            "does not vanish where both agree",
            fix="F.kl_div(F.log_softmax(scores, dim=1), target, reduction='batchmean')",
            severity="error" if plain or negative else "warning",
            confidence="exact" if plain or negative else "heuristic",
            explains=("rate_too_low", "rate_too_high", "non_finite"),
        )
