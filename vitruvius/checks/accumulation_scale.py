"""Accumulated losses are not divided: k micro-batches make a step k times too long."""

from vitruvius.checks import Criterion, Finding, Findings, Trace
from vitruvius.checks._steps import accumulations

LESSON = "accumulation"
SICK = """
import torch
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(12):
    x = torch.randn(8, 3)
    torch.nn.functional.mse_loss(net(x), x[:, :1]).backward()  # here
    if step % 4 == 3:
        optimizer.step()
        optimizer.zero_grad()
"""
HEALTHY = SICK.replace(".backward()", ".div(4).backward()")
MEANS = ("Mean", "NllLoss", "MseLoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "BinaryCrossEntropy", "KlDiv")


def accumulation_scale(trace: Trace) -> Findings:
    """Several backward passes of mean losses for one step; neither loss nor gradient is divided."""
    for group in accumulations(trace):
        whole = [event for event in group.steps if all(w.operation.startswith(MEANS) for w in event.waiting)]
        by_hand = [event for event in whole if abs(event.gradient_scale * len(event.waiting) - 1) < 0.02]
        sums = [event for event in trace.of(Criterion) if event.reduction == "sum"]
        if whole and not by_hand and not sums:
            operation = whole[0].waiting[0].operation.removesuffix("0").removesuffix("Backward")
            yield Finding(
                where=group.line,
                also=(whole[0].where,),
                evidence=f"{group.size} backward passes for each step, and the loss comes undivided from "
                f"{operation}",
                why="gradients add up: their sum is that of the large batch times the number of "
                "micro-batches",
                fix=f"(loss / {group.size}).backward()",
                explains=("rate_too_high",),
            )
