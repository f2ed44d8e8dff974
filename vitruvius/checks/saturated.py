"""Saturated tanh or sigmoid units: values at their bounds pass almost no gradient."""

from collections.abc import Iterator

from vitruvius.checks import Finding, Trace

SICK = """
import torch
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
torch.nn.init.normal_(net[0].weight, std=30.0)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(6):
    optimizer.zero_grad()
    x = torch.randn(8, 8)
    loss = (net(x) - x[:, :1]).square().mean()
    loss.backward()  # here
    optimizer.step()
"""
HEALTHY = SICK.replace("std=30.0", "std=0.3")
MOST = 0.7


def saturated(trace: Trace) -> Iterator[Finding]:
    """Most values of hidden tanh or sigmoid units lie within 1 % of a bound, from the first step on."""
    seen = [
        event for event in trace.of("backward") if event["graph"] is not None and event["graph"].saturated
    ]
    early = [event for event in seen if event.step < 3]
    if not early:
        return
    shares = []
    for event in early:
        units = sum(count for _, count in event["graph"].saturated)
        shares.append(sum(share * count for share, count in event["graph"].saturated) / units)
    if min(shares) < MOST:
        return
    forward = next((event.where for event in trace.of("forward") if event["grad"]), early[0].where)
    yield Finding(
        where=early[0].where,
        also=(forward,),
        evidence=f"{min(shares):.0%} of the values of tanh or sigmoid units are within 1 % of a bound at the start",
        why="the derivative is nearly zero there, so the weights before them hardly learn",
        fix="smaller initial weights (xavier), normalised inputs, or ReLU or GELU",
        explains=("vanishing", "rate_too_low"),
    )
