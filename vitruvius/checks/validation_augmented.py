"""Validation inputs change by chance: the random augmentation of training is applied to them too."""

from vitruvius.checks import EvaluationInputs, Finding, Findings, LoaderUsed, Trace, training
from vitruvius.checks._definitions import dataset_line

EVALUATION = """
    with torch.no_grad():
        F.mse_loss(net(held + 0.1 * torch.randn(16, 4)), target)  # here
"""
SICK = training(
    "x = torch.randn(16, 4)",
    "F.mse_loss(net(x), x.sum(1, keepdim=True)).backward()",
    net="nn.Linear(4, 1)",
    init="held = torch.randn(16, 4)\ntarget = held.sum(1, keepdim=True)",
) + EVALUATION.lstrip("\n")
HEALTHY = SICK.replace(" + 0.1 * torch.randn(16, 4)", "")
SHARE, FEWEST = 0.5, 8


def validation_augmented(trace: Trace) -> Findings:
    """Rows of an evaluation that come again with the same index or targets, but with other values."""
    for loader in trace.of(LoaderUsed):
        changed, again = loader.changed, loader.changed + loader.same
        only_evaluated = loader.evaluated and not loader.trained
        if only_evaluated and changed >= FEWEST and changed > SHARE * again:
            where = dataset_line(loader.built) or loader.where
            yield _finding(where, f"{changed} of {again} rows of {loader.dataset} that came again")
            return
    for line in trace.of(EvaluationInputs):
        if line.changed > 1 and line.changed > SHARE * (line.changed + line.same):
            again = line.changed + line.same
            yield _finding(
                line.where, f"{line.changed} of {again} batches that came again with the same targets"
            )
            return


def _finding(where: str, what: str) -> Finding:
    return Finding(
        where=where,
        confidence="exact",
        evidence=f"{what} in a later evaluation had other values",
        why="the figure changes by chance from epoch to epoch, and is that of pictures nobody will show it",
        fix="give validation its own data set with fixed transforms: resize and normalise, nothing random",
    )
