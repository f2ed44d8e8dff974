"""The target is one of the input columns."""

from vitruvius.checks import Finding, Findings, TargetColumn, Trace, training

HEALTHY = training(
    "i = torch.randint(0, 64, (16,))",
    "F.mse_loss(net(table[i, :3]), table[i, 3:]).backward()  # here",
    init="table = torch.randn(64, 4)",
)
SICK = HEALTHY.replace("table[i, :3]", "table[i, 1:]")
FEWEST = 32


def target_among_features(trace: Trace) -> Findings:
    """A column that equals the target in every row of every training batch that was looked at."""
    for event in trace.of(TargetColumn):
        if event.rows >= FEWEST:
            yield Finding(
                where=event.where,
                confidence="exact",
                evidence=f"column {event.column} of the input equalled the target in all {event.rows} "
                "rows looked "
                "at",
                why="the network copies what it should predict, and fails where the answer is not known",
                fix="drop that column from the features",
            )
            return
