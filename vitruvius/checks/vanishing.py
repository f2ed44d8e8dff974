"""Gradients vanish with depth: the first layers get a tiny part of what the last ones get."""

from vitruvius.checks import Finding, Findings, Trace
from vitruvius.checks._depth import by_depth
from vitruvius.checks._modules import holding

SICK = """
import torch
torch.manual_seed(0)
layers = [layer for _ in range(30) for layer in (torch.nn.Linear(8, 8), torch.nn.Tanh())]
net = torch.nn.Sequential(*layers, torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(6):
    optimizer.zero_grad()
    x = torch.randn(8, 8)
    loss = (net(x) - x[:, :1]).square().mean()
    loss.backward()  # here
    optimizer.step()
"""
HEALTHY = SICK.replace("range(30)", "range(2)")
SMALLEST = 1e-4


def vanishing(trace: Trace) -> Findings:
    """Gradients of the first three weight matrices against the last three, at the first steps."""
    profile = by_depth(trace)
    if profile is None or profile.ratio >= SMALLEST:
        return
    yield Finding(
        where=profile.where,
        module=holding([profile.falls_at]),
        also=(profile.forward,),
        evidence=f"the gradient (RMS) of the first layers is {profile.ratio:.1e} of that of the last; "
        f"it falls below a hundredth at {profile.falls_at}, over {profile.layers} layers",
        why="each plain layer multiplies the gradient by less than one; over many layers nothing is left",
        fix="residual connections, normalisation (LayerNorm, BatchNorm), or initialisation that keeps the "
        "variance",
        explains=("rate_too_low", "saturated", "dead_relu"),
    )
