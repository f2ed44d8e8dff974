"""Constant initialisation: all units of a layer start equal, get equal gradients and stay equal."""

from vitruvius.checks import Backward, Finding, Findings, Trace
from vitruvius.checks._modules import holding

SICK = """
import torch
net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
torch.nn.init.constant_(net[0].weight, 0.1)
torch.nn.init.constant_(net[0].bias, 0.1)
torch.nn.init.constant_(net[2].weight, 0.1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(6):
    optimizer.zero_grad()
    x = torch.randn(8, 3)
    loss = (net(x) - x[:, :1]).square().mean()  # here
    loss.backward()
    optimizer.step()
"""
HEALTHY = SICK.replace("torch.nn.init.constant_(net[2].weight, 0.1)", "torch.nn.init.normal_(net[2].weight)")


def symmetric_init(trace: Trace) -> Findings:
    """Weights whose units were equal at the start and are equal still after the steps that were watched."""
    optimised = trace.optimised()
    moved = [known for key, known in trace.parameters.items() if known.reached and key in optimised]
    alike = [known for known in moved if known.alike and known.name]
    alike = [known for known in alike if "Norm" not in known.layer and "Embedding" not in known.layer]
    if not alike or trace.steps < 3:
        return
    passes = [*trace.forwards(), *trace.of(Backward)]
    yield Finding(
        where=passes[0].where,
        module=holding([alike[0].name]),
        also=(trace.of(Backward)[0].where,),
        evidence=f"all {alike[0].shape[0]} units of {alike[0].name} are equal, at the start and after "
        f"{trace.steps} steps",
        why="equal units get equal gradients: the layer acts like a single unit however wide it is",
        fix="leave torch's own initialisation, or draw the weights at random (nn.init.xavier_uniform_)",
        severity="error",
        confidence="exact",
        explains=("dead_relu", "rate_too_low", "vanishing"),
    )
