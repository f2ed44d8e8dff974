"""Rows of a batch influence each other: the output of one row changes with the others."""

from functools import partial

import torch

from vitruvius.checks import Example, Findings, Trace, exact_error, training
from vitruvius.checks._experiment import Specimen, first_module, moved, specimens

LESSON = "normalisation"
SICK = training(
    "x = torch.randn(16, 3)",
    "F.cross_entropy(net(x), (x[:, 0] > 0).long()).backward()  # here",
    net="nn.Sequential(nn.Linear(3, 8), nn.Softmax(0), nn.Linear(8, 2))",
)
HEALTHY = SICK.replace("Softmax(0)", "Softmax(1)")


def mixed_rows(trace: Trace) -> Findings:
    """Change all rows but the first, or but the last: in eval mode its output must stay."""
    for specimen in specimens(trace.examples, lambda example: _has_rows(example, trace.steps)):
        x = specimen.x
        if not specimen.is_steady():
            continue
        before = specimen.output(x)
        if before.dim() < 1 or len(before) != len(x):
            continue
        ends = (0, len(x) - 1)
        mixed = [row for row in ends if moved(before[row], specimen.output(_others_changed(x, row))[row])]
        known = specimen.example.shifted and specimen.example.time_axis == 1  # then rows come first
        if mixed and (known or not _is_time_major(specimen)):
            row = mixed[0]
            module = first_module(specimen, _others_changed(x, row), partial(_row, row, len(x)))
            yield exact_error(
                where=specimen.example.where,
                module=module or None,
                evidence=f"the output of row {mixed[0]} of {type(specimen.model).__name__} changes when "
                "only other rows do (eval mode)" + (f", first in module {module}" if module else ""),
                why="attention, softmax, a reshape or an RNN runs over the batch axis instead of the tokens",
                fix="batch_first=True, or the right axis (dim) and order in permute, view and softmax",
                explains=("causal_leak", "positions_ignored"),
            )


def _has_rows(example: Example, steps: int) -> bool:
    """Whether the targets confirm the batch axis; a batch that always comes again may be one graph or set."""
    varied = example.batches > 2 or not steps
    others = [value for value in (*example.args, *example.kwargs.values()) if value is not example.x]
    # A mask or a length may come along, but no second tensor with the same rows.
    alone = not any(
        isinstance(value, torch.Tensor) and len(value.shape) and len(value) == example.rows
        for value in others
    )
    flat = example.x is not None and example.shifted and example.target_shape == (example.x.numel(),)
    rows = example.target_shape[:1] in ((example.rows,), ()) or flat
    return varied and rows and alone and not (example.shifted and example.time_axis == 0)


def _row(row: int, rows: int, output: torch.Tensor) -> torch.Tensor | None:
    return output[row] if len(output) == rows else None


def _others_changed(x: torch.Tensor, row: int) -> torch.Tensor:
    """A copy of the batch in which all rows but one are replaced."""
    changed = x.flip(0).roll(1, 0) + 1.0 if x.is_floating_point() else x.flip(0).roll(1, 0).flip(-1)
    changed[row] = x[row]
    return changed


def _is_time_major(specimen: Specimen) -> bool:
    """Whether the second axis counts the rows: it does not mix, and it is kept in the output."""
    x = specimen.x
    before = specimen.output(x)
    if x.dim() < 2 or before.dim() < 2 or before.shape[1] != x.shape[1]:
        return False
    changed = _others_changed(x.transpose(0, 1), 0).transpose(0, 1)
    return x.shape[1] > 1 and not moved(before[:, 0], specimen.output(changed)[:, 0])
