"""A model that predicts what comes next sees it: the causal mask is missing, transposed or leaks."""

from vitruvius.checks import Criterion, Findings, Trace, exact_error, lines, training
from vitruvius.checks._experiment import Specimen, moved, specimens

LAYER = "nn.TransformerEncoderLayer(8, 2, 8, 0.0, batch_first=True)"
SICK = training(
    "text = torch.randint(0, 9, (4, 7))",
    "scores = net(text[:, :-1])  # here",
    "F.cross_entropy(scores.flatten(0, 1), text[:, 1:].flatten()).backward()",
    net=f"nn.Sequential(nn.Embedding(9, 8), {LAYER}, nn.Linear(8, 9))",
)
HEALTHY = SICK.replace(LAYER, "nn.Linear(8, 8)")


def causal_leak(trace: Trace) -> Findings:
    """Targets are the inputs one step later; change the inputs from t on: outputs before t must stay."""
    for specimen in specimens(trace.examples, lambda example: example.shifted):
        if not specimen.is_steady():
            continue
        position = _leak(specimen)
        if position is not None:
            yield exact_error(
                where=specimen.example.where,
                also=lines(trace.of(Criterion)),
                evidence=f"targets are the inputs one step later, and the output before place {position} "
                f"changes with the input from {position} on",
                why="the network copies the answer while training and cannot when it generates",
                fix="a causal mask (is_causal=True, torch.triu(..., 1) is what is hidden), or padding on the "
                "left only",
                explains=("positions_ignored",),
            )


def _leak(specimen: Specimen) -> int | None:
    x = specimen.x
    before = specimen.output(x)
    axis = next((axis for axis in (1, 2) if before.dim() > axis and before.shape[axis] == x.shape[1]), None)
    if axis is None:
        return None
    for position in sorted({x.shape[1] // 2, x.shape[1] - 1}):
        changed = x.clone()
        rest = x[:, position:]
        changed[:, position:] = rest + 1.0 if x.is_floating_point() else rest.flip(0).roll(1, 1)
        after = specimen.output(changed)
        if moved(before.movedim(axis, 1)[:, :position], after.movedim(axis, 1)[:, :position]):
            return position
    return None
