"""Labels that cannot be meant: outside the classes, one-hot where numbers are expected, shifted twice."""

from vitruvius.checks import (
    Criterion,
    CriterionFailed,
    Finding,
    Findings,
    Targets,
    Trace,
    exact_error,
    training,
)

SICK = training(
    "x = torch.randn(8, 3)",
    "F.binary_cross_entropy_with_logits(net(x)[:, 0], x.argmax(1).float()).backward()  # here",
)
HEALTHY = SICK.replace("x.argmax(1).float()", "(x[:, 0] > 0).float()")


def bad_labels(trace: Trace) -> Findings:
    """Labels that torch refused, that are no 0 or 1, or that are the inputs two steps later."""
    for failed in trace.of(CriterionFailed)[-1:]:
        yield from _refused(failed)
    for event in trace.of(Criterion):
        binary = event.name.startswith("binary_cross_entropy") and event.labels is not None and event.grad
        if binary and event.labels and (event.labels[0] <= -1 or event.labels[1] >= 2):
            low, high, count = event.labels
            yield _finding(
                event.where,
                f"{event.name} is given {count} labels from {low:g} to {high:g}",
                "it expects probabilities: beyond 0 and 1 the loss has no lower bound",
                "labels 0 and 1; for several classes cross_entropy with one score for each class",
            )
            return
    shifts = [event for event in trace.of(Targets) if event.shift is not None]
    if len(shifts) > 1 and all(event.shift == 2 for event in shifts):
        yield _finding(
            shifts[0].where,
            f"in all {len(shifts)} batches looked at, the target at a place is the input two places later",
            "labels were shifted by the data and again by the model: it learns to skip a token",
            "shift once: give labels equal to the inputs to a model that shifts them, or shift them yourself",
        )


def _refused(event: CriterionFailed) -> Findings:
    classes = event.scores[1] if len(event.scores) > 1 else event.scores[0] if event.scores else 0
    if event.name not in ("cross_entropy", "nll_loss") or event.labels is None:
        return
    low, high = event.labels
    if event.target == event.scores and high <= 1 and low >= 0 and event.whole:
        said, fix = "one-hot labels as whole numbers", "labels.argmax(1), or one-hot labels as floats"
    elif event.whole and (high >= classes or low < 0) and "bound" in event.error:
        said = f"labels from {low:g} to {high:g} for {classes} scores"
        fix = (
            f"numbers from 0 to {classes - 1}: subtract 1, give the network {int(high) + 1} outputs, or name "
        )
        fix += "ignore_index"
    elif event.whole and len(event.target) == len(event.scores) and event.target[-1:] == (1,):
        said = f"labels of shape {list(event.target)} for scores {list(event.scores)}"
        fix = "labels.squeeze(1)"
    else:
        return
    why = f"{event.name} takes the number of the right class for each row, from 0 to {classes - 1}"
    yield _finding(event.where, f"{event.name} has refused {said}: {event.error}", why, fix)


def _finding(where: str, evidence: str, why: str, fix: str) -> Finding:
    hidden = ("rate_too_low", "rate_too_high", "initial_loss", "shuffled_labels", "non_finite", "exploding")
    return exact_error(where=where, evidence=evidence, why=why, fix=fix, explains=hidden)
