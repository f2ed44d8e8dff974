"""Class weights that favour the frequent classes: they grow with the counts instead of falling."""

from vitruvius.checks import Criterion, Finding, Findings, Trace, training
from vitruvius.checks._places import criterion_line

SICK = training(
    "x = torch.randn(64, 3)",
    "y = (x[:, 0] > 1.0).long()",
    "F.cross_entropy(net(x), y, weight=torch.tensor([0.84, 0.16])).backward()  # here",
    net="nn.Linear(3, 2)",
)
HEALTHY = SICK.replace("[0.84, 0.16]", "[0.16, 0.84]")
IMBALANCE, SPREAD = 2.0, 1.2  # how far counts and weights must be apart
ROWS = 48


def inverted_class_weights(trace: Trace) -> Findings:
    """Counts of the labels against the weights that were given for them."""
    looked = [
        event for event in trace.of(Criterion) if event.grad and event.details and event.details.weights
    ]
    for line, here in trace.grouped(looked, "where").items():
        known = [event.details for event in here if event.details]
        names = {event.name for event in here}
        weights, lengths = known[-1].weights, {len(facts.counts) for facts in known}
        if len(lengths) != 1:
            continue
        counts = [sum(column) for column in zip(*(facts.counts for facts in known), strict=True)]
        binary = names == {"binary_cross_entropy_with_logits"}
        if binary:
            weights = (1.0, *weights[:1])
        if len(counts) == len(weights) and _favours_frequent(counts, weights):
            most, least = counts.index(max(counts)), counts.index(min(c for c in counts if c))
            yield Finding(
                where=criterion_line(line, "pos_weight" if binary else "weight"),
                also=(line,),
                evidence=f"class {most} has {counts[most]} labels and weight {weights[most]:.3g}, class "
                f"{least} has {counts[least]} and {weights[least]:.3g} (batches looked at)",
                why="weights shall make up for rare classes: these make the rare ones rarer still",
                fix="weight = counts.sum() / (classes * counts); pos_weight = negatives / positives",
                explains=("rate_too_low",),
            )


def _favours_frequent(counts: list[int], weights: tuple[float, ...]) -> bool:
    seen = [(count, weight) for count, weight in zip(counts, weights, strict=True) if count]
    if len(seen) < 2 or sum(counts) < ROWS or min(weights) < 0:
        return False
    seen.sort()
    (fewest, light), (most, heavy) = seen[0], seen[-1]
    clear = most >= IMBALANCE * fewest and heavy > SPREAD * light
    pairs = [(a, b) for i, a in enumerate(seen) for b in seen[i + 1 :] if b[0] > 1.5 * a[0]]
    rising = sum(b[1] > a[1] for a, b in pairs)
    return clear and rising >= 0.8 * len(pairs)
