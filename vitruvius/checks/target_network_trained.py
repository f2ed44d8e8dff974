"""A target network, teacher or moving average gets gradients: it is trained, or for nothing."""

from vitruvius.checks import Finding, Findings, Forward, OptimiserEvent, Trace, Twin

SICK = """
import copy, torch
from torch import nn
from torch.nn import functional as F
online = nn.Linear(4, 4)
target = copy.deepcopy(online)
optimizer = torch.optim.SGD(online.parameters(), lr=0.05)
for step in range(12):
    x = torch.randn(16, 4)
    goal = target(x + 0.1 * torch.randn(16, 4))  # here
    optimizer.zero_grad()
    F.mse_loss(online(x), goal).backward()
    optimizer.step()
    with torch.no_grad():
        for p, q in zip(online.parameters(), target.parameters()):
            q.lerp_(p, 0.1)
"""
HEALTHY = SICK.replace("    goal = target(x", "    with torch.no_grad(): goal = target(x")


def target_network_trained(trace: Trace) -> Findings:
    """A copy that follows a trained network and that backward passes or its optimiser reach."""
    for twin in trace.of(Twin):
        if (twin.follows < 2 and not twin.loads) or not twin.parameters:
            continue
        events = [event for event in trace.of(OptimiserEvent) if event.optimiser == twin.optimiser]
        others = [event for event in trace.of(OptimiserEvent) if event.optimiser != twin.optimiser]
        if any(set(event.parameters) & set(twin.parameters) for event in others):
            continue  # a copy with an optimiser of its own is meant to learn
        held = len({key for event in events for key in event.parameters} & set(twin.parameters))
        runs = [event.where for event in trace.of(Forward) if event.network == twin.network and event.grad]
        if held or twin.reached:
            where = events[0].where if held else next(iter(runs), twin.where)
            yield Finding(
                where=where,
                also=(twin.where, *dict.fromkeys(runs)),
                severity="error" if held else "warning",
                confidence="exact",
                evidence=f"{twin.name} follows the trained network ({twin.follows or twin.loads} updates "
                "seen), and "
                + (f"{held} of its parameters are in the optimiser too" if held else "")
                + ("" if held else f"backward passes arrive at {twin.reached} of its parameters"),
                why="a target must stand still while the other network learns towards it; its own gradients "
                "pull it along, or are computed for nothing",
                fix=f"with torch.no_grad(): around {twin.name}(...), {twin.name}.requires_grad_(False), "
                "and leave it out of the optimiser",
                explains=("missing_parameters",),
            )
            return
