"""Gradients are zeroed between backward() and step(): the step has nothing to apply."""

from vitruvius.checks import Finding, Findings, Step, Trace, ZeroGrad, lines
from vitruvius.checks._steps import line

SICK = """
import torch
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(6):
    loss = net(torch.randn(8, 3)).square().mean()
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()  # here
"""
HEALTHY = SICK.replace(
    "    loss.backward()\n    optimizer.zero_grad()", "    optimizer.zero_grad()\n    loss.backward()"
)


def zeroed_before_step(trace: Trace) -> Findings:
    """A step whose gradients were computed and then cleared."""
    steps = trace.of(Step)
    empty = [event for event in steps if event.zeroed or (event.waiting and event.gradient_scale == 0)]
    if len(empty) > 1:
        first = empty[0]
        zeroings = [event for event in trace.of(ZeroGrad) if event.optimiser == first.optimiser]
        yield Finding(
            where=first.where,
            also=lines(zeroings),
            evidence=f"{len(empty)} of {len(steps)} steps found only empty gradients although backward() "
            f"had run; zeroed at {', '.join(sorted({line(event.where) for event in zeroings}))}",
            why="zero_grad() after backward() throws the new gradients away before step() can use them",
            fix="move zero_grad() before backward(), or after step()",
            severity="error",
            confidence="exact",
            explains=("rate_too_low", "leftover_dropped", "step_without_backward", "backward_without_step"),
        )
