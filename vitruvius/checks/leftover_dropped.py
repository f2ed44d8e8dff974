"""The last micro-batches of an epoch are too few for a step: thrown away, or added to the next epoch's."""

from collections import Counter

from vitruvius.checks import Finding, Findings, GradientsDropped, Trace, exact_error
from vitruvius.checks._steps import Group, accumulations, line

LESSON = "accumulation"
SICK = """
import torch
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for epoch in range(3):
    optimizer.zero_grad()
    for i in range(8):
        (net(torch.randn(8, 3)).square().mean() / 3).backward()
        if (i + 1) % 3 == 0:
            optimizer.step()  # here
            optimizer.zero_grad()
"""
HEALTHY = SICK.replace("range(8)", "range(9)")


def leftover_dropped(trace: Trace) -> Findings:
    """Gradients of fewer micro-batches than usual zeroed before any step, or added to a later one."""
    for group in accumulations(trace):
        yield from _leaked(group)
        lost = [event for event in trace.of(GradientsDropped) if event.optimiser == group.optimiser]
        lost = [event for event in lost if set(event.lines) == {group.line} and len(event.lines) < group.size]
        if lost:
            yield exact_error(
                where=group.steps[0].where,
                also=(lost[0].where, group.line),
                evidence=f"steps follow {group.size} backward passes; {len(lost)} times "
                f"{len(lost[0].lines)} were zeroed at {line(lost[0].where)} without a step",
                why="the rows of these micro-batches never change the weights",
                fix="step once more after the last micro-batch of an epoch, or choose a number that divides "
                "them",
            )


def _leaked(group: Group) -> Findings:
    """Steps that apply a few more micro-batches than the usual number: left over from the last epoch."""
    (usual, often), *_ = Counter(len(event.waiting) for event in group.steps).most_common()
    more = [event for event in group.steps if usual < len(event.waiting) < 2 * usual]
    if usual > 1 and more and 2 * often > len(group.steps) and len({len(e.waiting) for e in more}) == 1:
        yield Finding(
            where=more[0].where,
            also=(group.line,),
            evidence=f"{often} steps follow {usual} backward passes, and {len(more)} follow "
            f"{len(more[0].waiting)}: those left over at the end of an epoch go into a step of the next",
            why="that step is longer than the others and mixes gradients of older weights",
            fix="step once more after the last micro-batch of an epoch, then zero_grad()",
            confidence="exact",
        )
