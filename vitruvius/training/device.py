"""Where and how a training computes: device, precision, threads, compilation."""

import os
import shutil
from typing import Any

import torch

from vitruvius.core.errors import UserError

COMPILE_PAYS_AFTER = 1.4e12
"""Multiply-adds of forward passes after which compilation has paid for itself.

Measured by benchmarks/train_step.py on two cores: about 17 s to compile and 9.2 ms saved per step of `mnist`, which
pays after 1,850 steps or 1.0e12 multiply-adds; 15 s and 1.3 ms for `mnist-slim`, after 11,900 steps or 1.4e12.
"""
PRECISIONS = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16}


def device(name: str) -> torch.device:
    """The device of that name; 'auto' is a GPU where there is one."""
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    if name == "cuda" and not torch.cuda.is_available():
        raise UserError("--device cuda: this machine or this build of torch has no GPU; choose cpu or auto")
    if name == "mps" and not torch.backends.mps.is_available():
        raise UserError("--device mps: not an Apple machine; choose cpu or auto")
    return torch.device(name)


def precision(name: str, place: torch.device) -> str:
    """The precision that 'auto' stands for: bfloat16 where a GPU computes with it, float32 elsewhere."""
    if name != "auto":
        return name
    return "bfloat16" if place.type == "cuda" and torch.cuda.is_bf16_supported() else "float32"


def compiles(choice: str, macs: float) -> str:
    """'on' or 'off': what 'auto' stands for on this machine and for so much work."""
    if choice != "auto":
        return choice
    return "on" if macs >= COMPILE_PAYS_AFTER and compiler() else "off"


def compiler() -> str | None:
    """The C++ compiler that torch.compile needs on a CPU."""
    return os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++") or shutil.which("c++")


def use_threads(count: int) -> int:
    """Set how many threads torch uses (0: one per core, as torch chooses); returns the number."""
    if count:
        torch.set_num_threads(count)
    return torch.get_num_threads()


def fingerprint(threads: int, processes: int) -> dict[str, Any]:
    """What the bits of a result depend on beside config and versions."""
    return {
        "threads": threads,
        "processes": processes,
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "mkldnn": torch.backends.mkldnn.enabled,
    }
