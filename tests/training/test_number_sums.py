"""Numbers that processes sum through sockets, played here by the threads of one process."""

import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest
import torch
from torch import Tensor

from vitruvius.training import number_sums
from vitruvius.training.number_sums import NumberSums

T = TypeVar("T")


def in_all(folder: Path, processes: int, work: Callable[[NumberSums | None], T]) -> list[T]:
    """What each of the connected processes returns, in order of rank."""
    barrier, has_server = threading.Barrier(processes), threading.Event()

    def all_reduce(told: Tensor) -> Tensor:
        if told:
            has_server.set()
        barrier.wait(30)
        return torch.tensor(int(has_server.is_set()))

    def process(rank: int) -> T:
        with number_sums.connected(folder, rank, processes, all_reduce) as sums:
            return work(sums)

    with ThreadPoolExecutor(processes) as pool:
        return list(pool.map(process, range(processes)))


@pytest.mark.parametrize("processes", [2, 3, 4])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_all_processes_get_the_sums_in_the_order_of_ranks(
    processes: int, dtype: torch.dtype, tmp_path: Path
) -> None:
    given = torch.randn(5, processes, 3, generator=torch.Generator().manual_seed(0), dtype=dtype)
    expected = [sum(rows[1:], rows[0]) for rows in given]

    def work(sums: NumberSums | None) -> list[Tensor]:
        assert sums is not None
        return [sums.total(rows[sums.rank]) for rows in given]

    for found in in_all(tmp_path, processes, work):
        assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))


@pytest.mark.parametrize("dead", [0, 1, 2])
def test_a_process_that_ends_ends_the_waiting_of_the_others(dead: int, tmp_path: Path) -> None:
    def work(sums: NumberSums | None) -> str:
        assert sums is not None
        if sums.rank == dead:
            return "ended"
        try:
            sums.total(torch.zeros(2))
        except ConnectionError as error:
            return type(error).__name__
        return "went on"

    found = in_all(tmp_path, 3, work)
    assert found[dead] == "ended"
    assert "went on" not in found


def test_no_process_has_sums_without_sockets_of_a_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(socket, "AF_UNIX")
    assert in_all(tmp_path, 3, lambda sums: sums) == [None] * 3


def test_no_process_has_sums_where_the_path_is_too_long_for_a_socket(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 40)
    folder.mkdir()
    assert in_all(folder, 2, lambda sums: sums) == [None] * 2
