"""Rows of a batch influence each other: the output of one row changes with the others."""

from functools import partial

import torch

from vitruvius.checks import Findings, Trace, exact_error, training
from vitruvius.checks._experiment import first_moving
from vitruvius.checks._mixing import mixed, others_changed

LESSON = "normalisation"
LAYER = "nn.TransformerEncoderLayer(8, 2, 8, 0.0)"
SICK = training(
    "x = torch.randn(16, 5, 8)",
    "F.cross_entropy(net(x), (x[:, 0, 0] > 0).long()).backward()  # here",
    net=f"nn.Sequential({LAYER}, nn.Flatten(), nn.Linear(40, 2))",
)
HEALTHY = SICK.replace("0.0)", "0.0, batch_first=True)")


def mixed_rows(trace: Trace) -> Findings:
    """Change all rows but the first, or but the last: in eval mode its output must stay."""
    for specimen, row in mixed(trace):
        changed = others_changed(specimen.x, row)
        first = first_moving(specimen, changed, partial(_row, row, len(specimen.x)))
        module, line = (first.module, first.where) if first else ("", "")
        yield exact_error(
            where=line or specimen.example.where,
            also=(specimen.example.where,),
            module=module or None,
            evidence=f"the output of row {row} of {type(specimen.model).__name__} changes when "
            "only other rows do (eval mode)" + (f", first in module {module}" if module else ""),
            why="attention, softmax, a reshape or an RNN runs over the batch axis instead of the tokens",
            fix="batch_first=True, or the right axis (dim) and order in permute, view and softmax",
            explains=("causal_leak", "positions_ignored"),
        )


def _row(row: int, rows: int, output: torch.Tensor) -> torch.Tensor | None:
    return output[row] if len(output) == rows else None
