"""Micro-batches of different sizes count alike: the rows of a small one weigh more than the others."""

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
SMALL = 0.5


def accumulation_unequal(trace: Trace) -> Findings:
    """Steps whose micro-batches differ in rows, while each mean loss has the same factor."""
    for group in accumulations(trace):
        unequal = [event for event in group.steps if _is_unequal(event)]
        if unequal:
            rows = [item.rows for item in unequal[0].waiting]
            yield Finding(
                where=group.line,
                also=(unequal[0].where,),
                severity="warning" if min(rows) < SMALL * max(rows) else "info",
                confidence="exact",
                evidence=f"{len(unequal)} of {len(group.steps)} steps add up micro-batches of {min(rows)} to "
                f"{max(rows)} rows, and the mean loss of each has the same factor",
                why=f"a row of the smallest counts {max(rows) / min(rows):.1f} times as much as in the "
                "large batch",
                fix="loss * len(x) / rows of the whole batch, or drop_last=True",
            )
            return


def _is_unequal(step: Step) -> bool:
    rows = [item.rows for item in step.waiting]
    factors = [item.factor for item in step.waiting if item.factor]
    if min(rows, default=0) < 1 or min(rows) == max(rows) or len(factors) < len(rows):
        return False
    return max(factors) - min(factors) < 0.01 * max(factors)
