"""Saturated tanh or sigmoid units: values at their bounds pass almost no gradient."""

from vitruvius.checks import Finding, Findings, Trace, lines, training

SICK = training(
    "x = torch.randn(8, 8)",
    "(net(x) - x[:, :1]).square().mean().backward()  # here",
    net="nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))",
    init="nn.init.normal_(net[0].weight, std=30.0)",
)
HEALTHY = SICK.replace("std=30.0", "std=0.3")
MOST = 0.7


def saturated(trace: Trace) -> Findings:
    """Most values of hidden tanh or sigmoid units lie within 1 % of a bound, from the first step on."""
    early = [(event, graph.saturated) for event, graph in trace.graphs() if event.step < 3]
    early = [(event, found) for event, found in early if found]
    shares = [sum(share * n for share, n in found) / sum(n for _, n in found) for _, found in early]
    if not early or min(shares) < MOST:
        return
    yield Finding(
        where=early[0][0].where,
        also=lines(trace.forwards()[:1]),
        evidence=f"{min(shares):.0%} of the values of tanh or sigmoid units are within 1 % of a bound at the "
        "start",
        why="the derivative is nearly zero there, so the weights before them hardly learn",
        fix="smaller initial weights (xavier), normalised inputs, or ReLU or GELU",
        explains=("vanishing", "rate_too_low"),
    )
