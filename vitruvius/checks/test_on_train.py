"""The test data are training data: every evaluated row was trained on."""

from vitruvius.checks import Finding, Findings, Forward, Trace, lines
from vitruvius.checks._words import speaks_of_test

SICK = """
import torch
x = torch.randn(64, 3)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
x_test = x[40:]
for epoch in range(3):
    for batch in x[torch.randperm(64)].split(16):
        optimizer.zero_grad()
        net(batch).square().mean().backward()
        optimizer.step()
with torch.no_grad():
    print(net(x_test).mean())  # here
"""
HEALTHY = SICK.replace("x_test = x[40:]", "x_test = torch.randn(24, 3)")


def test_on_train(trace: Trace) -> Findings:
    """Rows of passes without gradients that had all been trained on, where the code speaks of a test."""
    evaluated = [event for event in trace.of(Forward) if not event.grad and event.rows > 3]
    trained = {event.network for event in trace.forwards()}
    late = [event for event in evaluated if event.network in trained and event.step > trace.steps // 2]
    late = [event for event in late if event.single_input and not _is_only_batch(trace, event)]
    if not late or any(event.trained_rows < 0.95 * event.rows for event in late):
        return
    meant = [event for event in late if speaks_of_test(event)]
    if meant:
        rows = sum(event.rows for event in meant)
        yield Finding(
            where=meant[-1].where,
            also=lines(meant),
            evidence=f"all {rows} rows looked at in {len(meant)} evaluations had been trained on",
            why="on rows it has seen a network looks better than it is: the figure says nothing about new "
            "data",
            fix="split once, before training, and evaluate on rows that no training batch holds",
        )


def _is_only_batch(trace: Trace, event: Forward) -> bool:
    """Whether this batch is the only training batch: a graph with split nodes, or overfitting on purpose."""
    return {found.batch for found in trace.forwards() if found.network == event.network} == {event.batch}
