"""Gradients vanish with depth: the first layers get a tiny part of what the last ones get."""

from vitruvius.checks import Finding, Findings, Trace, holding, training
from vitruvius.checks._depth import by_depth
from vitruvius.checks._layers import built_at

LESSON = "depth"
SICK = training(
    "x = torch.randn(8, 8)",
    "(net(x) - x[:, :1]).square().mean().backward()",
    net="nn.Sequential(*(f for _ in range(30) for f in (nn.Linear(8, 8), nn.Tanh())))  # here",
)
HEALTHY = SICK.replace("range(30)", "range(2)")
SMALLEST = 1e-4


def vanishing(trace: Trace) -> Findings:
    """Gradients of the first three weight matrices against the last three, at the first steps."""
    profile = by_depth(trace)
    if profile is None or profile.ratio >= SMALLEST:
        return
    yield Finding(
        where=built_at(trace, holding([profile.falls_at])) or profile.where,
        module=holding([profile.falls_at]),
        also=(profile.where, profile.forward),
        evidence=f"the gradient (RMS) of the first layers is {profile.ratio:.1e} of that of the last; "
        f"it falls below a hundredth at {profile.falls_at}, over {profile.layers} layers",
        why="each plain layer multiplies the gradient by less than one; over many layers nothing is left",
        fix="residual connections, normalisation (LayerNorm, BatchNorm), or initialisation that keeps the "
        "variance",
        explains=("rate_too_low", "saturated", "dead_relu"),
    )
