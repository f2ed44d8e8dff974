"""Device, precision, threads and compilation of a training."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from vitruvius.core.errors import UserError

COMPILE_PAYS_AFTER = 1.4e12
"""Multiply-adds of forward passes after which compilation has saved more time than it took.

Measured by benchmarks/train_step.py on two cores: `mnist` compiles in about 17 s and saves 9.2 ms per step,
which pays after 1,850 steps or 1.0e12 multiply-adds; `mnist-slim` takes 15 s and saves 1.3 ms: 11,900 steps
or 1.4e12.
"""
PRECISIONS = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16}


def choose_device(name: str) -> torch.device:
    """Return the device of that name; 'auto' is a GPU if there is one."""
    has_cuda, has_mps = torch.cuda.is_available(), torch.backends.mps.is_available()
    if name == "auto" and has_cuda:
        return torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
    if name == "cuda" and not has_cuda:
        raise UserError("--device cuda: this machine or this build of torch has no GPU; choose cpu or auto")
    if name == "mps" and not has_mps:
        raise UserError("--device mps: not an Apple machine; choose cpu or auto")
    return torch.device(name if name != "auto" else "mps" if has_mps else "cpu")


def choose_precision(name: str, device: torch.device) -> str:
    """Return the precision that 'auto' stands for: bfloat16 on a GPU that supports it, else float32."""
    if name != "auto":
        return name
    return "bfloat16" if device.type == "cuda" and torch.cuda.is_bf16_supported() else "float32"


def should_compile(choice: str, macs: float) -> bool:
    """Whether to use torch.compile; 'auto': if the work of the run repays it and there is a compiler."""
    return choice == "on" or (choice == "auto" and macs >= COMPILE_PAYS_AFTER and compiler() is not None)


def compiler() -> str | None:
    """Return the C++ compiler that torch.compile needs on a CPU, None if there is none."""
    return os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++") or shutil.which("c++")


def set_threads(count: int) -> int:
    """Set the number of threads torch uses (0: torch's own choice, one per core) and return it."""
    if count:
        torch.set_num_threads(count)
    return torch.get_num_threads()


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Let torch compute with so many threads inside the context (0: as many as before)."""
    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def fingerprint(threads: int, processes: int) -> dict[str, Any]:
    """Return what the exact bits of a result depend on, besides config and versions."""
    capability, mkldnn = torch.backends.cpu.get_cpu_capability(), torch.backends.mkldnn.enabled
    found = {"threads": threads, "processes": processes}
    return found | {"cpu_capability": capability, "mkldnn": mkldnn}
