"""Labels are unrelated to inputs: shuffled apart, or another label for the same row each time."""

from math import sqrt
from statistics import median

from vitruvius.checks import Criterion, Finding, Findings, Trace, lines
from vitruvius.checks._data_lines import shuffled_line
from vitruvius.checks._losses import losses

SICK = """
import torch
torch.manual_seed(0)
x = torch.randn(128, 3)
y = (x[:, 0] > 0).long()
net = torch.nn.Linear(3, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(4):
    order = torch.randperm(128)
    for xb, yb in zip(x[order].split(32), y[torch.randperm(128)].split(32)):  # here
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(xb), yb).backward()
        optimizer.step()
"""
HEALTHY = SICK.replace("y[torch.randperm(128)]", "y[order]")
FALLEN, FEWEST = 0.9, 30


def shuffled_labels(trace: Trace) -> Findings:
    """The same row with other labels; or nearest rows that agree only by chance while the loss stays."""
    labelled = [event for event in trace.of(Criterion) if event.labels and event.grad]
    if not labelled:
        return
    changed, again = trace.relabelled
    evidence = ""
    if again >= 64 and changed > 0.2 * again:
        evidence = f"{changed} of {again} rows that came again had another label than before"
    elif trace.neighbours is not None:
        agreement, chance, rows = trace.neighbours
        error = sqrt(chance * (1 - chance) / rows)
        first, last = losses(trace)
        stays = bool(first) and trace.steps >= FEWEST and median(last) > FALLEN * median(first)
        if abs(agreement - chance) < 3 * error and stays:
            evidence = f"nearest neighbours share the label in {agreement:.1%} of {rows} rows, chance gives "
            evidence += f"{chance:.1%}; the loss went from {median(first):.3g} to {median(last):.3g}"
    if evidence:
        yield Finding(
            where=shuffled_line(labelled[0].where) or labelled[0].where,
            also=(labelled[0].where, *lines(trace.forwards())),
            evidence=evidence,
            why="without a relation between rows and labels nothing can be learnt but the share of each "
            "class",
            fix="shuffle inputs and labels with the same permutation, as one data set",
        )
