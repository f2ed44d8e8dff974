"""The target is one of the input columns."""

from vitruvius.checks import Criterion, Finding, Findings, TargetColumn, Trace, training
from vitruvius.checks._data_lines import features_line
from vitruvius.checks._definitions import inputs_line

HEALTHY = training(
    "i = torch.randint(0, 64, (16,))",
    "x, y = table[i, :3], table[i, 3:]  # here",
    "F.mse_loss(net(x), y).backward()",
    init="table = torch.randn(64, 4)",
)
SICK = HEALTHY.replace("table[i, :3]", "table[i, 1:]")
FEWEST = 32


def target_among_features(trace: Trace) -> Findings:
    """A column that is the target, or the target on another scale, in every training batch looked at."""
    for event in trace.of(TargetColumn):
        if event.rows >= FEWEST:
            yield Finding(
                where=_taken(trace, event.where) or inputs_line(event.where) or event.where,
                also=(event.where,),
                confidence="exact",
                severity="warning" if event.equal else "info",
                evidence=f"column {event.column} of the input "
                + ("equalled" if event.equal else "was a factor times and a number plus")
                + f" the target in all {event.rows} rows looked at",
                why="the network copies what it should predict, and fails where the answer is not known",
                fix="drop that column from the features",
            )
            return


def _taken(trace: Trace, forward: str) -> str:
    """The line that takes the features from a table that the targets come from too."""
    compared = [event.where for event in trace.of(Criterion) if event.grad]
    return features_line(forward, compared[0]) if compared else ""
