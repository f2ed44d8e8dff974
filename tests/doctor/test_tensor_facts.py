"""Facts of tensors: numbers from all over a matrix, not from one of its columns."""

import torch

from vitruvius.doctor.tensor_facts import spread_values


def test_values_come_from_many_rows_and_columns() -> None:
    values = spread_values(torch.arange(64 * 64).view(64, 64), 8)
    assert len({value % 64 for value in values}) == len({value // 64 for value in values}) == 8
    assert values == spread_values(torch.arange(64 * 64), 8)


def test_a_small_tensor_gives_all_its_values() -> None:
    assert spread_values(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), 8) == [1.0, 2.0, 3.0, 4.0]
