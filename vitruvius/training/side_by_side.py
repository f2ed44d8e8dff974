"""Batches of an evaluation computed side by side on a CPU: threads share the batches, not the operators.

The operators of a small network are too short to share: 10,000 images of `mnist-slim` take one thread 1.7 s,
two threads inside the operators 1.3 s, and two threads that compute 125 images each 0.9 s (AMD EPYC, beside
other work, 17 November 2026).
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from math import ceil
from typing import TypeVar

import torch
from torch import Tensor
from torch.nn.modules import module

from vitruvius.core import allocator
from vitruvius.training import onednn

Found = TypeVar("Found")
IMAGES = 250
"""Most images that a thread computes at once.

Every operation waits for Python: with 125 `mnist-slim` takes 1.07 times as long and `cifar` 1.05
times (two threads of an AMD EPYC, 19 November 2026).
"""
MOST_THREADS = 4
"""Threads among which batches are shared: more would wait for one another's Python."""


def evaluated(
    compute: Callable[[Tensor], Found], sample_n: Tensor, size: int, device: torch.device
) -> Iterator[Found]:
    """Yield what `compute` finds for parts of the samples, at most `size` at once, without gradients.

    The parts follow one another on a GPU, with one thread, and where somebody watches all modules: a hook
    need not be made for threads.
    """

    def find(sample_B: Tensor) -> Found:
        with torch.no_grad(), onednn.in_evaluation() if device.type == "cpu" else nullcontext():
            return compute(sample_B)

    # One part leaves nothing that the next could use.
    with allocator.keeping_freed_memory() if len(sample_n) > min(size, IMAGES) else nullcontext():
        yield from _evaluated(find, sample_n, size, device)


def _evaluated(
    find: Callable[[Tensor], Found], sample_n: Tensor, size: int, device: torch.device
) -> Iterator[Found]:
    threads = torch.get_num_threads()
    beside = min(threads, MOST_THREADS, size)
    if not len(sample_n):
        return
    if device.type != "cpu" or beside < 2 or _is_watched():
        yield from map(find, torch.split(sample_n, size))
        return
    is_autocast, dtype = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")

    def in_thread(sample_B: Tensor) -> Found:
        with torch.autocast("cpu", dtype, is_autocast):  # a setting of each thread
            return find(sample_B)

    try:
        with ThreadPoolExecutor(beside, "evaluate", torch.set_num_threads, (threads // beside,)) as pool:
            yield from pool.map(in_thread, torch.split(sample_n, _share(len(sample_n), size, beside)))
    finally:
        torch.set_num_threads(threads)  # each thread has set its own number and that of all later ones


def _share(count: int, size: int, threads: int) -> int:
    """Return how many of `count` samples a thread computes at once, so that all end together.

    >>> _share(10_000, 500, 2), _share(98, 500, 2), _share(600, 500, 2)
    (250, 49, 150)
    """
    rounds = ceil(count / (threads * min(IMAGES, size // threads)))
    return ceil(count / (threads * rounds))


def _is_watched() -> bool:
    return bool(module._global_forward_hooks or module._global_forward_pre_hooks)
