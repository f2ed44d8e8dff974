"""Parameters were replaced after the optimiser was built: it moves tensors that nothing uses."""

from vitruvius.checks import Backward, Finding, Findings, OptimiserBuilt, Trace
from vitruvius.checks._held import replaced
from vitruvius.checks._modules import holding

SICK = """
import torch
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)  # here
net.weight = torch.nn.Parameter(torch.zeros(1, 3))
for step in range(6):
    optimizer.zero_grad()
    net(torch.randn(8, 3)).square().mean().backward()
    optimizer.step()
"""
HEALTHY = SICK.replace(
    "net.weight = torch.nn.Parameter(torch.zeros(1, 3))", "torch.nn.init.zeros_(net.weight)"
)


def replaced_parameters(trace: Trace) -> Findings:
    """A tensor of an optimiser that no network holds any more, and a parameter that no optimiser holds."""
    for event in trace.of(OptimiserBuilt):
        lost, new = replaced(trace, event)
        if lost:
            yield Finding(
                where=event.where,
                module=holding([item.name for item in new]),
                also=(trace.of(Backward)[0].where,),
                evidence=f"{len(lost)} parameters of this {event.name} belong to no network that ran; "
                f"{', '.join(item.name for item in new[:4])} took their place",
                why="the optimiser keeps the old tensors; the new ones get gradients that nobody applies",
                fix="build the optimiser after the last change of the network, or initialise in place "
                "(nn.init)",
                severity="error",
                confidence="exact",
                explains=(
                    "backward_without_step",
                    "step_without_backward",
                    "zeroed_before_step",
                    "detached_loss",
                ),
            )
