"""The loss does not reach parameters that should learn: it was detached or computed without gradients."""

from vitruvius.checks import Finding, Findings, Step, Trace, lines
from vitruvius.checks._modules import holding

SICK = """
import torch
first, second = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.01)
for step in range(6):
    optimizer.zero_grad()
    hidden = first(torch.randn(8, 3)).relu().detach()
    second(hidden).square().mean().backward()  # here
    optimizer.step()
"""
HEALTHY = SICK.replace(".detach()", "")


def detached_loss(trace: Trace) -> Findings:
    """Parameters of an optimiser whose modules ran with gradients and that no backward pass reaches."""
    seen = [event for event, _ in trace.graphs()]
    stepped = {key for event in trace.of(Step) for key in event.parameters}
    cut = [trace.parameters[key] for key in stepped if trace.parameters[key].trainable]
    cut = [known for known in cut if known.ran and not known.reached]
    whole = [event for event in seen if event.is_leaf]
    if not cut or len(seen) < 2:
        return
    guilty = (whole or seen)[0]
    yield Finding(
        where=guilty.where,
        module=holding([known.name for known in cut]),
        also=lines(trace.forwards()),
        evidence=f"{len(cut)} parameters ran in the forward pass and no gradient reaches them: "
        f"{', '.join(known.name for known in cut[:3])}" + ("; the loss has no history" if whole else ""),
        why=".detach(), .data, .item(), numpy or no_grad() between them and the loss cut the graph",
        fix="remove what cuts the graph between these modules and the loss; freeze them if that is meant",
        severity="error",
        confidence="exact",
        explains=("rate_too_low", "vanishing"),
    )
