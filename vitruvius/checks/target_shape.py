"""Predictions and targets broadcast against each other: every row is compared with every other."""

from vitruvius.checks import Criterion, Finding, Findings, Trace

SICK = """
import torch
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(6):
    optimizer.zero_grad()
    x = torch.randn(8, 3)
    loss = (net(x) - x.sum(1)).square().mean()
    loss.backward()  # here
    optimizer.step()
"""
HEALTHY = SICK.replace("x.sum(1)", "x.sum(1, keepdim=True)")
ELEMENTWISE = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")


def target_shape(trace: Trace) -> Findings:
    """Shapes (N, 1) and (N,) that broadcast to (N, N), in a criterion or in a difference."""
    for event in trace.of(Criterion):
        scores, target = event.scores, event.target
        if event.name in ELEMENTWISE and target is not None and event.grad and _crossed(scores, target):
            yield _finding(event.where, scores, target)
            return
    for backward, graph in trace.graphs():
        if graph.broadcast:
            before, (rows, *_) = graph.broadcast
            yield _finding(backward.where, before, (rows,) if len(before) == 2 else (rows, 1))
            return


def _crossed(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    longer, shorter = (a, b) if len(a) > len(b) else (b, a)
    return longer == (*shorter, 1) and shorter[-1:] > (1,)


def _finding(where: str, scores: tuple[int, ...], target: tuple[int, ...]) -> Finding:
    return Finding(
        where=where,
        evidence=f"predictions {list(scores)} against targets {list(target)} broadcast to all pairs",
        why="the mean over all pairs is smallest when every prediction is the mean target",
        fix="give both the same shape: targets.view_as(predictions)",
        severity="error",
        confidence="exact",
        explains=("rate_too_low", "rate_too_high", "shuffled_labels"),
    )
