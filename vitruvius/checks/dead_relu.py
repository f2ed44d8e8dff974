"""Dead ReLUs: units that are zero on the whole batch pass no gradient and do not come back."""

from vitruvius.checks import Finding, Findings, Trace, lines, training
from vitruvius.checks._layers import layer_of

SICK = training(
    "x = torch.randn(8, 3)",
    "(net(x) - x[:, :1]).square().mean().backward()",
    net="nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))",
    init="nn.init.constant_(net[0].bias, -50.0)  # here",
)
HEALTHY = SICK.replace("-50.0", "0.0")
MOST = 0.9


def dead_relu(trace: Trace) -> Findings:
    """A ReLU layer almost all of whose units are zero in every batch that was looked at."""
    seen = [(event, graph.dead) for event, graph in trace.graphs() if graph.dead]
    if len(seen) < 2:
        return
    worst = [max((units.share for units in dead if units.count > 3), default=0.0) for _, dead in seen]
    late = worst[len(worst) // 2 :]
    if min(late) < MOST:
        return
    last = [units for units in reversed(seen[-1][1]) if units.count > 3]
    module, line = layer_of(trace, max(last, key=lambda units: units.share >= MOST), bias_first=True)
    yield Finding(
        where=line or seen[0][0].where,
        module=module,
        also=(seen[0][0].where, *lines(trace.forwards()[:1])),
        evidence=f"in one ReLU layer {min(late):.0%} of the units or more are zero on every batch looked at",
        why="a unit that is negative for every row has gradient zero and stays so",
        fix="initialisation around zero (kaiming), a smaller rate, no large negative bias; or LeakyReLU or "
        "GELU",
        explains=("rate_too_low",),
    )
