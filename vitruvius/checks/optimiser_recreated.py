"""The optimiser is built anew every epoch: momentum and Adam's statistics are lost each time."""

from vitruvius.checks import Findings, OptimiserBuilt, Restarted, Step, Trace, exact_error
from vitruvius.checks._patches import before_loop

SICK = """
import torch
net = torch.nn.Linear(3, 1)
for epoch in range(4):
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)  # here
    for step in range(5):
        optimizer.zero_grad()
        net(torch.randn(8, 3)).square().mean().backward()
        optimizer.step()
"""
HEALTHY = SICK.replace("for epoch in range(4):\n    optimizer", "optimizer").replace(
    "    for step in range(5):\n", "for epoch in range(4):\n    for step in range(5):\n"
)


def optimiser_recreated(trace: Trace) -> Findings:
    """Optimisers with a state that are built several times, at one line, for the same parameters."""
    used = {event.optimiser for event in trace.of(Step)}
    # Folds and restarts begin with other weights.
    used -= {event.optimiser for event in trace.of(Restarted)}
    made = [event for event in trace.of(OptimiserBuilt) if event.momentum and event.optimiser in used]
    for line, keys in dict.fromkeys((event.where, event.parameters) for event in made):
        times = sum(event.where == line and event.parameters == keys for event in made)
        if times > 2:
            yield exact_error(
                where=line,
                evidence=f"built {times} times for the same {len(keys)} parameters, in {trace.steps} steps",
                why="each new optimiser starts without momentum or squared gradients, so every epoch starts "
                "cold",
                fix="build the optimiser once, before the loop",
                patch=before_loop(line),
            )
            return
