"""The decay of a moving average of weights is swapped, or so slow that it is still the beginning."""

from vitruvius.checks import Finding, Findings, Forward, Trace, Twin

SICK = """
import copy, torch
from torch import nn
net = nn.Linear(4, 4)
average = copy.deepcopy(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(12):
    x = torch.randn(16, 4)
    optimizer.zero_grad()
    nn.functional.mse_loss(net(x), x.flip(1)).backward()
    optimizer.step()
    with torch.no_grad():
        for p, q in zip(net.parameters(), average.parameters()):
            q.mul_(1 - 0.99).add_(p, alpha=0.99)  # here
"""
HEALTHY = SICK.replace("1 - 0.99", "0.9").replace("alpha=0.99", "alpha=0.1")
LARGE, PLAIN, LEFT, FEWEST = 0.5, 1 - 1e-5, 0.5, 8


def ema_decay(trace: Trace) -> Findings:
    """A copy that goes most of the way to the weights in every step, or that keeps most of the beginning."""
    optimised = trace.optimised()
    for twin in trace.of(Twin):
        if twin.fraction is None or twin.follows < FEWEST or set(twin.parameters) & optimised:
            continue
        if twin.follows < 0.9 * twin.observed:  # not after every step
            continue
        steps = trace.made.get(twin.optimiser, 0)
        left = (1 - twin.fraction) ** steps if twin.fraction < 1 else 0.0
        runs = [event for event in trace.of(Forward) if event.network == twin.network]
        evaluated = bool(runs) and not any(event.step < steps - 1 and event.step % 2 for event in runs)
        if LARGE < twin.fraction < PLAIN:
            said = f"each update of {twin.name} goes {twin.fraction:.1%} of the way to the new weights"
            why = f"the average covers {1 / twin.fraction:.2f} steps: it is the network itself, noise and all"
        elif left > LEFT and evaluated and trace.ended:
            said = (
                f"an update of {twin.name} goes {twin.fraction:.2e} of the way, and there were {steps} steps"
            )
            why = f"{left:.0%} of what is evaluated are still the weights of the beginning"
        else:
            continue
        yield Finding(
            where=twin.where or (runs[0].where if runs else ""),
            evidence=said,
            why=why,
            fix="average = decay * average + (1 - decay) * weights with a decay of about 1 - 10 / steps, "
            "smaller in the first steps",
        )
        return
