"""Saturated tanh or sigmoid units: values at their bounds pass almost no gradient."""

from vitruvius.checks import Finding, Findings, Trace, Units, lines, training
from vitruvius.checks._layers import layer_of

SICK = training(
    "x = torch.randn(8, 8)",
    "(net(x) - x[:, :1]).square().mean().backward()",
    net="nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))",
    init="nn.init.normal_(net[0].weight, std=30.0)  # here",
)
HEALTHY = SICK.replace("std=30.0", "std=0.3")
MOST = 0.7


def saturated(trace: Trace) -> Findings:
    """Most values of hidden tanh or sigmoid units lie within 1 % of a bound, from the first step on."""
    early = [(event, graph.saturated) for event, graph in trace.graphs() if event.step < 3]
    early = [(event, found) for event, found in early if found]
    shares = [sum(u.share * u.count for u in found) / sum(u.count for u in found) for _, found in early]
    own = _own_layer(trace, [found for _, found in early])
    if not early or (min(shares) < MOST and own is None):
        return
    guilty = max(reversed(early[0][1]), key=lambda units: units.share >= MOST)  # the first in the network
    module, line = layer_of(trace, guilty)
    share = min(shares) if min(shares) >= MOST or own is None else own
    yield Finding(
        where=line or early[0][0].where,
        module=module,
        also=(early[0][0].where, *lines(trace.forwards()[:1])),
        evidence=f"{share:.0%} of the values of tanh or sigmoid units are within 1 % of a bound at the start",
        why="the derivative is nearly zero there, so the weights before them hardly learn",
        fix="smaller initial weights (xavier), normalised inputs, or ReLU or GELU",
        explains=("vanishing", "rate_too_low"),
    )


def _own_layer(trace: Trace, early: list[list[Units]]) -> float | None:
    """The smallest share of one layer whose weights the user's code has set, if that is high at all steps."""
    if not early or len({len(found) for found in early}) != 1:
        return None
    for layer in reversed(list(zip(*early, strict=True))):
        known = trace.parameters.get(layer[0].weights)
        if known is not None and known.initialised and min(units.share for units in layer) >= MOST:
            return min(units.share for units in layer)
    return None
