"""Batches of an evaluation that threads compute side by side."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook

from vitruvius.core import allocator
from vitruvius.training import side_by_side

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _three_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def indices(count: int, size: int = 500) -> list[int]:
    parts = side_by_side.evaluated(Tensor.tolist, torch.arange(count), size, CPU)
    return [index for part in parts for index in part]


@pytest.mark.parametrize("count", [0, 1, 2, 124, 376, 1001])
@pytest.mark.parametrize("size", [1, 2, 7, 500])
def test_every_sample_is_computed_once_and_found_in_order(count: int, size: int) -> None:
    assert indices(count, size) == list(range(count))


def test_threads_together_hold_no_more_samples_than_one_would() -> None:
    beside = side_by_side.evaluated(len, torch.arange(1000), 30, CPU)
    assert max(beside) * 3 == 30


@pytest.mark.parametrize(
    ("count", "size", "parts"), [(98, 500, [33, 33, 32]), (1000, 900, [167] * 5 + [165])]
)
def test_threads_share_few_samples_evenly(count: int, size: int, parts: list[int]) -> None:
    assert list(side_by_side.evaluated(len, torch.arange(count), size, CPU)) == parts


def test_threads_compute_without_gradients_and_with_the_precision_of_their_caller() -> None:
    weight = torch.ones(2, 2, requires_grad=True)

    def product(sample_B: Tensor) -> Tensor:
        return weight @ weight

    for dtype in (torch.bfloat16, None):
        with torch.autocast("cpu", dtype or torch.bfloat16, enabled=dtype is not None):
            found = list(side_by_side.evaluated(product, torch.arange(300), 500, CPU))
        assert {one.dtype for one in found} == {dtype or torch.float32}
        assert not any(one.requires_grad for one in found)


def test_threads_share_the_threads_of_torch_which_keeps_its_number() -> None:
    def threads(_: Tensor | None = None) -> int:
        return torch.get_num_threads()

    assert set(side_by_side.evaluated(threads, torch.arange(1000), 500, CPU)) == {1}
    with ThreadPoolExecutor(1) as later:
        assert (threads(), later.submit(threads).result()) == (3, 3)


def test_an_error_reaches_the_caller_and_leaves_the_number_of_threads() -> None:
    def fail(sample_B: Tensor) -> None:
        raise ValueError(f"no sample {sample_B[0]}")

    with pytest.raises(ValueError, match="no sample 0"):
        list(side_by_side.evaluated(fail, torch.arange(1000), 500, CPU))
    assert torch.get_num_threads() == 3


def test_parts_follow_one_another_where_all_modules_are_watched() -> None:
    linear, seen = nn.Linear(1, 1), set()

    def compute(sample_B: Tensor) -> Tensor:
        return linear(sample_B[:, None].float())

    def hook(*_: object) -> None:
        seen.add(threading.current_thread())

    with register_module_forward_hook(hook):
        watched = list(side_by_side.evaluated(compute, torch.arange(400), 200, CPU))
    assert seen == {threading.current_thread()}
    assert torch.equal(torch.cat(watched), linear(torch.arange(400.0)[:, None]))


@pytest.mark.parametrize(("count", "is_kept"), [(250, False), (251, True)])
def test_what_several_parts_free_is_kept_for_the_next(
    count: int, is_kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_to: list[object] = []
    monkeypatch.setattr(allocator, "_set", set_to.append)
    assert indices(count) == list(range(count))
    assert set_to == ([allocator.KEEP, allocator.RELEASE] if is_kept else [])
