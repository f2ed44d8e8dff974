"""Gradients of past steps are used again: nothing zeroes them between step() and backward()."""

from vitruvius.checks import Finding, Findings, Step, Trace, lines

SICK = """
import torch
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(6):
    x = torch.randn(8, 3)
    loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
    loss.backward()
    optimizer.step()  # here
"""
HEALTHY = SICK.replace("    loss.backward()", "    optimizer.zero_grad()\n    loss.backward()")


def zero_grad(trace: Trace) -> Findings:
    """A step whose gradients contain one that an earlier step has used already."""
    for optimiser in {event.optimiser for event in trace.of(Step)}:
        steps = [event for event in trace.of(Step) if event.optimiser == optimiser]
        stale = [event for event in steps if event.stale]
        if stale:
            first = stale[0]
            yield Finding(
                where=first.where,
                also=lines(first.waiting),
                evidence=f"in {len(stale)} of {len(steps)} steps, {first.stale} parameters of {first.name} "
                "still held the gradient of an earlier step",
                why="backward() adds to .grad; what is left from the last step is applied again and again",
                fix="call optimizer.zero_grad() before backward(), for every optimiser that steps",
                severity="error",
                confidence="exact",
                explains=("rate_too_high", "exploding", "accumulation_scale", "accumulation_norm"),
            )
