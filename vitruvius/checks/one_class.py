"""All labels are the same class: there is nothing to tell apart."""

from collections.abc import Iterator

from vitruvius.checks import Finding, Trace

SICK = """
import torch
net = torch.nn.Linear(3, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(6):
    optimizer.zero_grad()
    x = torch.rand(16, 3)
    loss = torch.nn.functional.cross_entropy(net(x), x[:, 0].long())  # here
    loss.backward()
    optimizer.step()
"""
HEALTHY = SICK.replace("x[:, 0].long()", "x[:, 0].round().long()")


def one_class(trace: Trace) -> Iterator[Finding]:
    """Smallest and largest label over all batches that were trained on."""
    judged = [event for event in trace.of("criterion") if event["labels"] and event["grad"]]
    low = min((event["labels"][0] for event in judged), default=0)
    high = max((event["labels"][1] for event in judged), default=1)
    rows = sum(event["labels"][2] for event in judged)
    if low == high and rows >= 32 and len(judged) > 1:
        yield Finding(
            where=judged[0].where,
            evidence=f"all {rows} labels are {low}, for {judged[0]['classes']} classes",
            why="the network learns to say one class whatever it sees, and the loss still falls",
            fix="look at how labels are made: a cast that cuts fractions, a filter, a sorted and cut data set",
            severity="error",
            exact=True,
            explains=("shuffled_labels", "initial_loss", "same_order", "vanishing"),
        )
