"""All labels are the same class: there is nothing to tell apart."""

from vitruvius.checks import Criterion, Findings, Trace, exact_error, training

SICK = training(
    "x = torch.rand(16, 3)",
    "F.cross_entropy(net(x), x[:, 0].long()).backward()  # here",
    net="nn.Linear(3, 2)",
)
HEALTHY = SICK.replace("x[:, 0].long()", "x[:, 0].round().long()")


def one_class(trace: Trace) -> Findings:
    """Smallest and largest label over all batches that were trained on."""
    losses = [event for event in trace.of(Criterion) if event.labels and event.grad]
    labels = [event.labels for event in losses if event.labels]
    low = min((low for low, _, _ in labels), default=0)
    high = max((high for _, high, _ in labels), default=1)
    rows = sum(count for _, _, count in labels)
    if low == high and rows >= 32 and len(labels) > 1:
        yield exact_error(
            where=losses[0].where,
            evidence=f"all {rows} labels are {low}, for {losses[0].classes} classes",
            why="the network learns to say one class whatever it sees, and the loss still falls",
            fix="look at how labels are made: a cast that cuts fractions, a filter, a sorted and cut data "
            "set",
            explains=("shuffled_labels", "initial_loss", "same_order", "vanishing"),
        )
