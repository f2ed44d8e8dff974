"""A target network or moving average never moves, although the network that it copies is trained."""

import re

from vitruvius.checks import Finding, Findings, Forward, Trace, Twin, lines

HEALTHY = """
import copy, torch
from torch import nn
from torch.nn import functional as F
online = nn.Linear(4, 4)
target = copy.deepcopy(online)
optimizer = torch.optim.SGD(online.parameters(), lr=0.05)
for step in range(30):
    x = torch.randn(16, 4)
    with torch.no_grad():
        goal = target(x + 0.1 * torch.randn(16, 4))
    optimizer.zero_grad()
    F.mse_loss(online(x), goal).backward()
    optimizer.step()
    with torch.no_grad():
        for p, q in zip(online.parameters(), target.parameters()):
            q.lerp_(p, 0.1)  # here
"""
SICK = HEALTHY.replace("q.lerp_(p, 0.1)", "q = 0.9 * q + 0.1 * p")
FEWEST = 20
AVERAGE = re.compile(r"ema|avg|average|shadow|swa|teacher|target", re.IGNORECASE)


def target_network_stands(trace: Trace) -> Findings:
    """A copy that runs in every step, is as it was at the beginning, and that no optimiser holds."""
    optimised = trace.optimised()
    for twin in trace.of(Twin):
        if not twin.stands or trace.steps < FEWEST or set(twin.parameters) & optimised:
            continue
        runs = [event for event in trace.of(Forward) if event.network == twin.network]
        often = len({event.step for event in runs}) > trace.watched // 2
        updated = bool(twin.where)
        if not updated and not (often and _sees_other_inputs(trace, runs)) and not _is_average(twin, runs):
            continue
        yield Finding(
            where=twin.where or runs[0].where,
            also=lines(runs),
            evidence=f"{twin.name} has the weights that the trained network had at the beginning, after "
            f"{trace.steps} steps" + ("; this line should update it" if updated else ""),
            why="targets that never follow teach the network what it was before it had learnt anything",
            fix=f"after each step move {twin.name} in place: q.lerp_(p, 1 - decay) for all parameters under "
            "torch.no_grad(), or load_state_dict every few steps",
        )
        return


def _is_average(twin: Twin, runs: list[Forward]) -> bool:
    """Whether a copy that is only evaluated is called an average."""
    return bool(runs) and not any(event.grad for event in runs) and bool(AVERAGE.search(twin.name))


def _sees_other_inputs(trace: Trace, runs: list[Forward]) -> bool:
    """Whether the copy never runs on a batch that a network is trained on: a reference model does."""
    trained = {event.batch for event in trace.forwards()} - {0}
    return bool(runs) and not any(event.grad or event.batch in trained for event in runs)
