"""A model that predicts what comes next sees it: the causal mask is missing, transposed or leaks."""

from functools import partial

from torch import Tensor

from vitruvius.checks import Criterion, Findings, Trace, exact_error, lines, training
from vitruvius.checks._experiment import Specimen, first_module, moved, specimens

LESSON = "masking"
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
            module = first_module(
                specimen, _changed(specimen, position), partial(_before, specimen, position)
            )
            yield exact_error(
                where=specimen.example.where,
                module=module or None,
                also=lines(trace.of(Criterion)),
                evidence=f"targets are the inputs one step later, and the output before place {position} "
                f"changes with the input from {position} on"
                + (f", first in module {module}" if module else ""),
                why="the network copies the answer while training and cannot when it generates",
                fix="a causal mask (is_causal=True, torch.triu(..., 1) is what is hidden), or padding on the "
                "left only",
                explains=("positions_ignored",),
            )


def _leak(specimen: Specimen) -> int | None:
    steps = specimen.x.shape[specimen.example.time_axis]
    for position in sorted({steps // 2, steps - 1}):
        early = _before(specimen, position, specimen.output(specimen.x))
        after = _before(specimen, position, specimen.output(_changed(specimen, position)))
        if early is not None and after is not None and moved(early, after):
            return position
    return None


def _changed(specimen: Specimen, position: int) -> Tensor:
    """The input with other values from a position on."""
    axis, x = specimen.example.time_axis, specimen.x
    changed = x.clone()
    rest = x.narrow(axis, position, x.shape[axis] - position)
    other = rest + 1.0 if x.is_floating_point() else rest.flip(1 - axis).roll(1, axis)
    changed.narrow(axis, position, x.shape[axis] - position).copy_(other)
    return changed


def _before(specimen: Specimen, position: int, output: Tensor) -> Tensor | None:
    """The part of an output that belongs to the positions before one; None if it has no such axis."""
    axis, x = specimen.example.time_axis, specimen.x
    if output.dim() == 2 and len(output) == x.shape[0] * x.shape[1]:  # rows and positions in one axis
        output = output.reshape(x.shape[0], x.shape[1], -1)
    axes = [one for one in (axis, 2) if output.dim() > one and output.shape[one] == x.shape[axis]]
    return output.narrow(axes[0], 0, position) if axes else None
