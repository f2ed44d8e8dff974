"""BatchNorm breaks gradient accumulation: its statistics are those of the micro-batch, not of the batch."""

from vitruvius.checks import Finding, Findings, Trace, named
from vitruvius.checks._steps import accumulations

LESSON = "accumulation"
SICK = """
import torch
net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(12):
    x = torch.randn(4, 3)
    (net(x) - x[:, :1]).square().mean().div(4).backward()  # here
    if step % 4 == 3:
        optimizer.step()
        optimizer.zero_grad()
"""
HEALTHY = SICK.replace("BatchNorm1d(8)", "LayerNorm(8)")


def accumulation_norm(trace: Trace) -> Findings:
    """A BatchNorm module in training mode while several micro-batches make one step."""
    for group in accumulations(trace):
        batches = {waiting.batch for event in group.steps for waiting in event.waiting}
        forwards = [event for event in trace.forwards() if event.batch in batches]
        normalised = [event for event in forwards if event.batch_norm]
        if normalised:
            first = normalised[0]
            yield Finding(
                where=group.line,
                also=(first.where,),
                module=named(trace, first.batch_norm),
                evidence=f"module {first.batch_norm} normalises {first.rows} rows at a time, "
                f"a step is meant for {first.rows * group.size}",
                why="mean and variance are taken over the micro-batch, so the gradient is not that of the "
                "large batch",
                fix="use LayerNorm or GroupNorm, or a larger batch without accumulation",
            )
