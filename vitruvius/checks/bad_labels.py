"""Labels that cannot be meant: outside the classes, one-hot where numbers are expected, shifted twice."""

from vitruvius.checks import (
    Criterion,
    CriterionFailed,
    Example,
    Finding,
    Findings,
    Targets,
    Trace,
    exact_error,
    training,
)
from vitruvius.checks._causal import leak, looks_back
from vitruvius.checks._experiment import specimens

SICK = training(
    "x = torch.randn(8, 3)",
    "F.binary_cross_entropy_with_logits(net(x)[:, 0], x.argmax(1).float()).backward()  # here",
)
HEALTHY = SICK.replace("x.argmax(1).float()", "(x[:, 0] > 0).float()")
ROWS = 20  # labels for each class, on average


def bad_labels(trace: Trace) -> Findings:
    """Labels that torch refused, that are no 0 or 1, that begin at 1, or are the inputs two steps later."""
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
    yield from _never_first(trace)
    yield from _no_distributions(trace)
    shifts = [event for event in trace.of(Targets) if event.shift is not None]
    if len(shifts) > 1 and all(event.shift == 0 for event in shifts):
        yield from _not_shifted(trace, shifts)
    if len(shifts) > 1 and all(event.shift == 2 for event in shifts):
        yield _finding(
            shifts[0].where,
            f"in all {len(shifts)} batches looked at, the target at a place is the input two places later",
            "labels were shifted by the data and again by the model: it learns to skip a token",
            "shift once: give labels equal to the inputs to a model that shifts them, or shift them yourself",
        )


def _not_shifted(trace: Trace, shifts: list[Targets]) -> Findings:
    """The targets are the inputs, in a network that sees no later ones: it repeats what it is given."""
    for specimen in specimens(trace.examples, _is_text):
        # A network that looks at each token by itself may be meant to name it.
        if specimen.is_steady() and leak(specimen) is None and looks_back(specimen):
            yield Finding(
                where=shifts[0].where,
                confidence="exact",
                evidence=f"in all {len(shifts)} batches looked at, the target at each place is the input at "
                "that place, and the network sees none that come later",
                why="it learns to copy what it was given instead of what comes next",
                fix="inputs text[:, :-1] and targets text[:, 1:]",
            )
            return


def _is_text(example: Example) -> bool:
    return example.x is not None and example.x.dim() == 2 and not example.x.is_floating_point()


def _never_first(trace: Trace) -> Findings:
    """Labels of rows that begin at 1: the first output has no example."""
    looked = [event for event in trace.of(Criterion) if event.name in ("cross_entropy", "nll_loss")]
    looked = [event for event in looked if event.grad and event.labels and event.target == (event.rows,)]
    for line, here in trace.grouped(looked, "where").items():
        known = [event.labels for event in here if event.labels]
        classes, count = here[0].classes, sum(number for _, _, number in known)
        lowest, highest = min(low for low, _, _ in known), max(high for _, high, _ in known)
        named = any(event.vocabulary for event in here)
        if lowest == 1 and highest == classes - 1 and count >= ROWS * classes > 2 * ROWS and not named:
            yield Finding(
                where=line,
                confidence="exact",
                evidence=f"all {count} labels looked at lie between 1 and {classes - 1}: output 0 of "
                f"{classes} has no example",
                why="labels that begin at 1 leave the first output empty; where they are cut to fit, the "
                "last two classes fall together",
                fix="subtract 1 from the labels",
            )
            return


def _no_distributions(trace: Trace) -> Findings:
    """Floating targets of cross_entropy whose rows do not sum to 1: several labels at once."""
    looked = [event for event in trace.of(Criterion) if event.grad and event.details]
    for line, here in trace.grouped(looked, "where").items():
        found = [event.details for event in here if event.details]
        if all(facts.target_rows is not None and facts.target_rows > 0.5 for facts in found):
            yield Finding(
                where=line,
                confidence="exact",
                evidence="the rows of the floating targets of cross_entropy do not sum to 1, in all "
                f"{len(found)} batches looked at",
                why="cross_entropy compares with a distribution over classes that exclude each other",
                fix="binary_cross_entropy_with_logits for several labels at once",
            )
            return


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
