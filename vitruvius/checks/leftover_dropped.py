"""The last micro-batches of an epoch are thrown away: too few for a step, then zeroed."""

from vitruvius.checks import Findings, GradientsDropped, Trace, exact_error
from vitruvius.checks._steps import accumulations, line

SICK = """
import torch
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for epoch in range(3):
    optimizer.zero_grad()
    for i in range(8):
        (net(torch.randn(8, 3)).square().mean() / 3).backward()  # here
        if (i + 1) % 3 == 0:
            optimizer.step()
            optimizer.zero_grad()
"""
HEALTHY = SICK.replace("range(8)", "range(9)")


def leftover_dropped(trace: Trace) -> Findings:
    """Gradients of fewer micro-batches than usual that were zeroed before any step."""
    for group in accumulations(trace):
        lost = [event for event in trace.of(GradientsDropped) if event.optimiser == group.optimiser]
        lost = [event for event in lost if set(event.lines) == {group.line} and len(event.lines) < group.size]
        if lost:
            yield exact_error(
                where=group.line,
                also=(lost[0].where, group.steps[0].where),
                evidence=f"steps follow {group.size} backward passes; {len(lost)} times "
                f"{len(lost[0].lines)} were zeroed at {line(lost[0].where)} without a step",
                why="the rows of these micro-batches never change the weights",
                fix="step once more after the last micro-batch of an epoch, or choose a number that divides "
                "them",
            )
