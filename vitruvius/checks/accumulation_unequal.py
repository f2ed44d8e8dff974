"""Micro-batches of different sizes count alike: rows or tokens of a small one weigh more than the others."""

from vitruvius.checks import Finding, Findings, Step, Trace
from vitruvius.checks._steps import accumulations

LESSON = "accumulation"
SICK = """
import torch
from torch.nn import functional as F
net = torch.nn.Linear(3, 1)
rows = torch.randn(26, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for epoch in range(4):
    optimizer.zero_grad()
    for part in rows[torch.randperm(26)].split(8):
        loss = F.mse_loss(net(part), part.sum(1, keepdim=True))
        (loss / 4).backward()  # here
    optimizer.step()
"""
HEALTHY = SICK.replace("(loss / 4)", "(loss * len(part) / 26)")
SMALL, OFTEN = 0.5, 0.25


def accumulation_unequal(trace: Trace) -> Findings:
    """Steps whose micro-batches differ in rows or tokens, while each mean loss has the same factor."""
    for group in accumulations(trace):
        unequal = [event for event in group.steps if _is_unequal(event)]
        if not unequal:
            continue
        tokens = _sizes(unequal[0]) != [item.rows for item in unequal[0].waiting]
        worst = min((_sizes(event) for event in unequal), key=_evenness)
        small = [event for event in unequal if _evenness(_sizes(event)) < SMALL]
        # Numbers of tokens always differ a little; rows only where a batch is cut wrongly.
        is_large = len(small) > OFTEN * len(group.steps) if tokens else bool(small)
        what = "targets that count" if tokens else "rows"
        yield Finding(
            where=group.line,
            also=(unequal[0].where,),
            severity="warning" if is_large else "info",
            confidence="exact",
            evidence=f"{len(unequal)} of {len(group.steps)} steps add up micro-batches of different sizes, "
            f"as {min(worst)} and {max(worst)} {what}, and the mean loss of each has the same factor",
            why=f"one of the smallest counts {max(worst) / min(worst):.1f} times as much as in the large "
            "batch",
            fix="sum the losses and divide by the number of targets of the whole batch"
            if tokens
            else "loss * len(x) / rows of the whole batch, or drop_last=True",
        )
        return


def _sizes(step: Step) -> list[int]:
    """Over how many targets each mean was taken, where that is known; otherwise the rows."""
    counted = [item.counted for item in step.waiting]
    rows = [item.rows for item in step.waiting]
    return rows if min(counted, default=0) < 1 or min(rows) != max(rows) else counted


def _evenness(sizes: list[int]) -> float:
    return min(sizes) / max(sizes)


def _is_unequal(step: Step) -> bool:
    sizes = _sizes(step)
    factors = [item.factor for item in step.waiting if item.factor]
    if min(sizes, default=0) < 1 or min(sizes) == max(sizes) or len(factors) < len(sizes):
        return False
    return max(factors) - min(factors) < 0.01 * max(factors)
