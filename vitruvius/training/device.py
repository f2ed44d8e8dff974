"""Device, precision, threads and compilation of a training."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from vitruvius.arch import cost
from vitruvius.arch.arch import Arch
from vitruvius.core.counted import counted
from vitruvius.core.errors import UserError
from vitruvius.training import onednn

COMPILE_PAYS_AFTER = 1.4e12
"""Multiply-adds of forward passes after which compilation has saved more time than it took.

Measured by benchmarks/train_step.py on two cores: `mnist` compiles in about 17 s and saves 9.2 ms per step,
which pays after 1,850 steps or 1.0e12 multiply-adds; `mnist-slim` takes 15 s and saves 1.3 ms: 11,900 steps
or 1.4e12.
"""
COMPILE_PAYS_WITHIN = 300.0
"""Seconds of a time limit below which nothing is compiled.

The same measurements: compiling takes 15 to 17 s and saves a fifth of each step, so that it is repaid after
85 s on a machine that is idle, and after several times that on one that is not. """
MOST_WORKERS = 4
"""Each process adds up the gradients of all: of more than so many the machine would read too many copies of
them in every step."""
SHARE_PER_PARAMETER = 250
"""Multiply-adds of a process's share of a batch per parameter below which threads do better.

Every process adds up all gradients and updates all parameters: its share of the images must be worth that.
Threads, which wait for one another in every operation, and two processes, compiled, freed memory kept, two
cores of an AMD EPYC, 18 November 2026: `mnist` with 32 images (182 multiply-adds per parameter) 21.4 and
23.6 ms, with 256 (1,460) 142 and 128; `mnist-slim` with 32 (282) 12.6 and 10.9 (of 17 November), with 256
(2,259) 77 and 50; `cifar` with 32 (1,073) 217 and 216, with 256 (8,587) 1,827 and 1,724; ViT-Ti/16 with 8
images of 224 pixels (877) 428 and 376.
"""
LARGE_STEP = 6e10
"""Multiply-adds of the forward pass of a step above which nothing was measured, and threads are taken."""
WORKERS_PAY_AFTER = 1e12
"""Multiply-adds of forward passes that repay starting processes: each imports torch and reads the data."""
PRECISIONS = {
    "float32": torch.float32,
    "float64": torch.float64,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}
CPU = torch.device("cpu")
NOT_IDENTICAL = "not bit-identical on this device"


def choose_device(name: str) -> torch.device:
    """Return the device of that name, a GPU if 'auto' finds one; of several the one of this process."""
    has_cuda, has_mps = torch.cuda.is_available(), torch.backends.mps.is_available()
    if name == "cuda" and not has_cuda:
        raise UserError("--device cuda: this machine or this build of torch has no GPU; choose cpu")
    if name == "mps" and not has_mps:
        raise UserError("--device mps: not an Apple machine; choose cpu")
    if name == "cuda" or (name == "auto" and has_cuda):
        return _gpu(int(os.environ.get("LOCAL_RANK", 0)))
    return torch.device(name if name != "auto" else "mps" if has_mps else "cpu")


def _gpu(index: int) -> torch.device:
    """Return a GPU of this machine after making it the one that this process computes on."""
    count = torch.cuda.device_count()
    if index >= count:
        cure = f"start at most {counted(count, 'process')} on this machine, or choose --device cpu"
        raise UserError(f"process {index + 1} of this machine has no GPU, there are {count}: {cure}")
    torch.cuda.set_device(index)
    torch.set_float32_matmul_precision("high")
    return torch.device("cuda", index)


def choose_precision(name: str, device: torch.device) -> str:
    """Return the precision that 'auto' stands for: float32, but 16 bits on an NVIDIA GPU.

    That is bfloat16 where the GPU computes with it, and float16 where it would only imitate it.
    """
    if name != "auto":
        return name
    if device.type != "cuda":
        return "float32"
    return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float16"


def rng_state(device: torch.device) -> dict[str, Tensor]:
    """Return the state of the device's own random generator; a CPU has none beside torch's."""
    if device.type == "cuda":
        return {"device_rng": torch.cuda.get_rng_state(device)}
    return {"device_rng": torch.mps.get_rng_state()} if device.type == "mps" else {}


def set_rng_state(device: torch.device, state: Tensor | None) -> None:
    """Restore the state of the device's own random generator."""
    if state is not None and device.type == "cuda":
        torch.cuda.set_rng_state(state, device)
    elif state is not None and device.type == "mps":
        torch.mps.set_rng_state(state)


def should_compile(choice: str, macs: float, time_limit: float | None = None) -> bool:
    """Whether to use torch.compile; 'auto': if run and time limit repay it and there is a compiler."""
    if choice != "auto":
        return choice == "on"
    in_time = time_limit is None or time_limit >= COMPILE_PAYS_WITHIN
    return in_time and macs >= COMPILE_PAYS_AFTER and compiler() is not None


def choose_workers(choice: int, arch: Arch, batch: int, work: int, where: torch.device, threads: int) -> int:
    r"""Return how many processes share each batch of `batch` images; `choice` 0 leaves that to the sizes.

    Threads inside an operation wait for one another; processes, each with a share of the batch, meet once per
    step to sum their gradients. With $T$ threads to use, $M$ multiply-adds per image and $P$ parameters,
    $W = \min(4, T, B, \lfloor BM/250P \rfloor)$ processes are started if $W \ge 2$, a step of $B$ images
    takes at most 6e10 multiply-adds forward, and the whole run (`work`) at least 1e12, so that the start is
    repaid.
    """
    if where.type != "cpu":
        if choice > 1:
            raise UserError(
                f"--workers {choice}: they share the cores of a CPU; start torchrun for several GPUs"
            )
        return 1
    found = cost.cost(arch)
    forward = batch * found.macs
    workers = min(MOST_WORKERS, threads, batch, forward // (SHARE_PER_PARAMETER * found.params))
    is_measured = forward + found.pass_macs <= LARGE_STEP
    is_long = work >= WORKERS_PAY_AFTER
    return choice or (workers if workers >= 2 and is_measured and is_long else 1)


def compiler() -> str | None:
    """Return the C++ compiler that torch.compile needs on a CPU, None if there is none."""
    return os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++") or shutil.which("c++")


def set_threads(count: int, processes: int = 1) -> int:
    """Set the number of threads torch uses (0: torch's own choice, one per core), shared by processes.

    Returns the threads of this process.
    """
    if count or processes > 1:
        torch.set_num_threads(max(1, (count or torch.get_num_threads()) // processes))
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


def fingerprint(threads: int, processes: int, where: torch.device = CPU) -> dict[str, Any]:
    """Return what the exact bits of a result depend on, besides config and versions."""
    capability, mkldnn = torch.backends.cpu.get_cpu_capability(), torch.backends.mkldnn.enabled
    found = {"threads": threads, "processes": processes, "device": describe(where)}
    found |= {"cpu_capability": capability, "mkldnn": mkldnn, "onednn_products": onednn.is_faster()}
    return found if where.type == "cpu" else found | {"bits": NOT_IDENTICAL}


def describe(where: torch.device) -> str:
    """Return the kind of a device, with the name of the product if it is a GPU."""
    return f"cuda ({torch.cuda.get_device_name(where)})" if where.type == "cuda" else where.type
