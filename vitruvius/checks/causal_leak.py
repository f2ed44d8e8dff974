"""A model that predicts what comes next sees it: the causal mask is missing, transposed or leaks."""

from functools import partial

from vitruvius.checks import Criterion, Findings, Trace, exact_error, lines, training
from vitruvius.checks._causal import before, changed, leak
from vitruvius.checks._experiment import Moving, first_moving, specimens
from vitruvius.checks._places import masking_line

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
        position = leak(specimen)
        if position is not None:
            first = first_moving(specimen, changed(specimen, position), partial(before, specimen, position))
            module, line = (first.module, _mask_line(first)) if first else ("", "")
            yield exact_error(
                where=line or specimen.example.where,
                module=module or None,
                also=(specimen.example.where, *lines(trace.of(Criterion))),
                evidence=f"targets are the inputs one step later, and the output before place {position} "
                f"changes with the input from {position} on"
                + (f", first in module {module}" if module else ""),
                why="the network copies the answer while training and cannot when it generates",
                fix="a causal mask (is_causal=True, torch.triu(..., 1) is what is hidden), or padding on the "
                "left only",
                explains=("positions_ignored",),
            )


def _mask_line(first: Moving) -> str:
    """The line that masks the scores, if an operation lets the module see the future; else its call."""
    return masking_line(first.where) or first.where if first.between else first.where
