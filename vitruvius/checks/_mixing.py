"""Experiments on the batch axis: do rows influence each other?"""

import torch

from vitruvius.checks import Example, Trace
from vitruvius.checks._experiment import Specimen, moved, specimens


def mixed(trace: Trace) -> list[tuple[Specimen, int]]:
    """Networks in eval mode in which the output of a row changes when only other rows do, and that row."""
    found = []
    for specimen in specimens(trace.examples, lambda example: _has_rows(example, trace.steps)):
        x = specimen.x
        if not specimen.is_steady():
            continue
        before = specimen.output(x)
        if before.dim() < 1 or len(before) != len(x):
            continue
        ends = (0, len(x) - 1)
        rows = [row for row in ends if moved(before[row], specimen.output(others_changed(x, row))[row])]
        known = specimen.example.shifted and specimen.example.time_axis == 1  # then rows come first
        if rows and (known or not _is_time_major(specimen)):
            found.append((specimen, rows[0]))
    return found


def _has_rows(example: Example, steps: int) -> bool:
    """Whether the targets confirm the batch axis; a batch that always comes again may be one graph or set."""
    varied = example.batches > 2 or not steps
    others = [value for value in (*example.args, *example.kwargs.values()) if value is not example.x]
    # A mask or a length may come along, but no second tensor with the same rows.
    alone = not any(
        isinstance(value, torch.Tensor) and len(value.shape) and len(value) == example.rows
        for value in others
    )
    if any(_names_rows(value, example.rows) for value in others):
        return False  # the edges of a graph, whose nodes are meant to influence each other
    flat = example.x is not None and example.shifted and example.target_shape == (example.x.numel(),)
    rows = example.target_shape[:1] in ((example.rows,), ()) or flat
    if example.x is not None and example.x.dim() < 2 and not example.target_shape:
        return False  # the numbers of a single sample, as a policy reads its state
    return varied and rows and alone and not (example.shifted and example.time_axis == 0)


def _names_rows(value: object, rows: int) -> bool:
    """Whether an input names pairs of rows: (2, E) whole numbers, none as large as the number of rows."""
    if not isinstance(value, torch.Tensor) or value.dtype not in (torch.int32, torch.int64):
        return False
    pairs = value.dim() == 2 and len(value) == 2 and value.numel() > 0
    return pairs and int(value.min()) >= 0 and int(value.max()) < rows


def others_changed(x: torch.Tensor, row: int) -> torch.Tensor:
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
    if before.dim() == 2 and specimen.example.target_shape == (len(x),) and len(x) != x.shape[1]:
        return False  # each row of the first axis has a label, which names one of the second
    changed = others_changed(x.transpose(0, 1), 0).transpose(0, 1)
    return x.shape[1] > 1 and not moved(before[:, 0], specimen.output(changed)[:, 0])
