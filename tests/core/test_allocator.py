"""Freed memory that stays with the process while networks are computed."""

import resource
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from vitruvius.core import allocator
from vitruvius.core.allocator import MIB, keeping_freed_memory

BLOCK = 100 * MIB
"""More than glibc ever serves from its heap by itself, and more than one heap of a thread can hold."""


@pytest.fixture(autouse=True)
def _asked_anew() -> Iterator[None]:
    allocator._libc.cache_clear()
    yield
    allocator._libc.cache_clear()


needs_glibc = pytest.mark.skipif(allocator._libc() is None, reason="the allocator is not glibc's, or is set")


def faults() -> int:
    """Page faults of taking, filling and freeing a block."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    bytearray(BLOCK)[:] = b"x" * BLOCK
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@needs_glibc
def test_a_block_of_the_same_size_is_taken_again_without_page_faults() -> None:
    given_back = faults()
    with keeping_freed_memory():
        faults()
        assert faults() * 10 < given_back


@needs_glibc
def test_the_outermost_use_gives_memory_back_at_its_end() -> None:
    before = resident()
    with keeping_freed_memory():
        with keeping_freed_memory():
            faults()
        assert resident() - before >= BLOCK
    assert resident() - before < BLOCK / 2
    assert faults() > BLOCK / resource.getpagesize() / 2


@needs_glibc
def test_a_thread_may_take_more_than_one_of_its_heaps_holds() -> None:
    found = []
    with keeping_freed_memory():
        thread = threading.Thread(target=lambda: found.extend([faults(), faults()]))
        thread.start()
        thread.join()
    assert len(found) == 2


def test_an_error_gives_memory_back_too(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[object] = []
    monkeypatch.setattr(allocator, "_set", given.append)
    with pytest.raises(ValueError, match="no step"), keeping_freed_memory():
        raise ValueError("no step")
    assert given == [allocator.KEEP, allocator.RELEASE]


@pytest.mark.parametrize("name", allocator.USERS)
def test_what_the_environment_sets_is_left_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "1")
    assert allocator._libc() is None
    with keeping_freed_memory():
        pass


def test_another_system_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert allocator._libc() is None
    with keeping_freed_memory():
        pass
