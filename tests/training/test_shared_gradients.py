"""Gradients that several processes sum in memory they share, played here by one process with two sides."""

from pathlib import Path

import pytest
import torch

from vitruvius.training.shared_gradients import SharedGradients


def sides(folder: Path, count: int, processes: int = 2) -> list[SharedGradients]:
    """The sides of a group; all of them have mapped the same rows."""
    found = [SharedGradients(folder, rank, processes) for rank in range(processes)]
    assert found[0].prepare(torch.zeros(1, dtype=torch.float64), count, lambda told: told)
    for side in found:
        side.rows = found[0].rows
    return found


def test_all_sides_get_the_sum_in_the_order_of_ranks(tmp_path: Path) -> None:
    torch.manual_seed(0)
    given = [[torch.randn(2, 3).double(), torch.randn(4).double()] for _ in range(3)]
    group = sides(tmp_path, 10, processes=3)
    for side, gradients in zip(group, given, strict=True):
        side.write(gradients)
    flat = [torch.cat([gradient.flatten() for gradient in gradients]) for gradients in given]
    for side in group:
        assert torch.equal(side.total(), flat[0] + flat[1] + flat[2])


def test_a_side_that_is_a_step_ahead_disturbs_nobody_who_still_reads(tmp_path: Path) -> None:
    first, second = sides(tmp_path, 4)
    for side in (first, second):
        side.write([torch.ones(4).double()])
    assert first.total().tolist() == [2.0] * 4
    first.write([torch.full((4,), 7.0).double()])
    assert second.total().tolist() == [2.0] * 4
    second.write([torch.ones(4).double()])
    assert second.total().tolist() == [8.0] * 4


def test_without_room_nothing_is_mapped_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full)
    side = SharedGradients(tmp_path, 0, 2)
    assert not side.prepare(torch.zeros(1), 10, lambda told: told)
    assert side.rows is None
    assert list(tmp_path.iterdir()) == []


def test_the_file_has_no_name_once_it_is_mapped(tmp_path: Path) -> None:
    side = SharedGradients(tmp_path, 0, 2)
    assert side.prepare(torch.zeros(1), 10, lambda told: told)
    assert list(tmp_path.iterdir()) == []
    side.write([torch.arange(10.0)])
    assert side.total().tolist() == list(range(10))
