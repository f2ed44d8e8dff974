"""Predictions and targets broadcast against each other: every row is compared with every other."""

from vitruvius.checks import Criterion, Finding, Findings, Trace, exact_error, training
from vitruvius.checks._patches import same_shape
from vitruvius.checks._places import loss_line
from vitruvius.core.patch import Patch

SICK = training("x = torch.randn(8, 3)", "(net(x) - x.sum(1)).square().mean().backward()  # here")
HEALTHY = SICK.replace("x.sum(1)", "x.sum(1, keepdim=True)")
ELEMENTWISE = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")


def target_shape(trace: Trace) -> Findings:
    """Shapes (N, 1) and (N,) that broadcast to (N, N), in a criterion or in a difference."""
    for event in trace.of(Criterion):
        scores, target = event.scores, event.target
        if event.name in ELEMENTWISE and target is not None and event.grad and _crossed(scores, target):
            patch = same_shape(event.where, scores, target)
            yield _finding(event.where, scores, target, patch)
            return
    for backward, graph in trace.graphs():
        if graph.broadcast:
            before, (rows, *_) = graph.broadcast
            target = (rows,) if len(before) == 2 else (rows, 1)
            yield _finding(loss_line(backward.where), before, target, also=(backward.where,))
            return


def _crossed(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    longer, shorter = (a, b) if len(a) > len(b) else (b, a)
    return longer == (*shorter, 1) and shorter[-1:] > (1,)


def _finding(
    where: str,
    scores: tuple[int, ...],
    target: tuple[int, ...],
    patch: Patch | None = None,
    also: tuple[str, ...] = (),
) -> Finding:
    return exact_error(
        where=where,
        also=also,
        evidence=f"predictions {list(scores)} against targets {list(target)} broadcast to all pairs",
        why="the mean over all pairs is smallest when every prediction is the mean target",
        fix="give both the same shape: targets.view_as(predictions)",
        patch=patch,
        explains=("rate_too_low", "rate_too_high", "shuffled_labels"),
    )
