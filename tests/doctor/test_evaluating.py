"""Columns that equal the targets count once for each different row."""

import torch

from vitruvius.checks import TargetColumn
from vitruvius.doctor.evaluating import Evaluations


def _rows_of_copies(batches: list[torch.Tensor]) -> list[int]:
    evaluations = Evaluations()
    for x in batches:
        evaluations.paired(0, "train.py:1", x, x[:, 1].long())
    return [event.rows for event in evaluations.at_the_end(0) if isinstance(event, TargetColumn)]


def test_one_batch_that_comes_again_counts_once() -> None:
    draw = torch.Generator().manual_seed(0)
    x = torch.randint(0, 2, (10, 12), generator=draw).float()
    assert _rows_of_copies([x] * 20) == [10]


def test_other_batches_add_their_rows() -> None:
    draw = torch.Generator().manual_seed(0)
    x = torch.randint(0, 2, (40, 12), generator=draw).float()
    assert _rows_of_copies(list(x.split(10))) == [40]
