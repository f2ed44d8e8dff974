"""The processes of a training: one by default, several under torchrun. With one, each function is a no-op."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, distributed, nn

from vitruvius.core.errors import UserError


@contextmanager
def init(device: torch.device) -> Iterator[None]:
    """Join the process group that torchrun started (NCCL on GPUs, gloo on CPUs) and leave it at the end."""
    if "TORCHELASTIC_RUN_ID" not in os.environ and "LOCAL_RANK" not in os.environ:
        yield
        return
    if missing := [
        name for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT") if name not in os.environ
    ]:
        cure = "start several processes with torchrun, or unset LOCAL_RANK for one"
        raise UserError(f"LOCAL_RANK is set but {missing[0]} is not: {cure}")
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield
    finally:
        distributed.destroy_process_group()


def rank() -> int:
    """Return the rank of this process; rank 0 writes the files."""
    return distributed.get_rank() if distributed.is_initialized() else 0


def world_size() -> int:
    """Return the number of processes that train together."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def wrap(model: nn.Module) -> nn.Module:
    """Return the model with its gradients averaged over all processes; with one process, the model itself."""
    return nn.parallel.DistributedDataParallel(model) if world_size() > 1 else model


def unwrap(model: nn.Module) -> nn.Module:
    """Return the model inside DistributedDataParallel."""
    return model.module if isinstance(model, nn.parallel.DistributedDataParallel) else model


def gradient_sync(model: nn.Module, is_last: bool) -> AbstractContextManager[Any]:
    """Exchange gradients in this backward pass only if it is that of the last part of a batch."""
    if isinstance(model, nn.parallel.DistributedDataParallel) and not is_last:
        return model.no_sync()
    return nullcontext()


def all_reduce_sum(values: Tensor) -> Tensor:
    """Sum a tensor over all processes, in place."""
    if world_size() > 1:
        distributed.all_reduce(values)
    return values


def all_gather(value: Tensor) -> list[Tensor]:
    """Return the tensors of all processes, in order of rank."""
    if world_size() == 1:
        return [value]
    found = [torch.empty_like(value) for _ in range(world_size())]
    distributed.all_gather(found, value)
    return found


def any_rank(value: bool) -> bool:
    """Whether the value is true on any rank; every rank gets the same answer, so that all act together."""
    return value if world_size() == 1 else bool(all_reduce_sum(torch.tensor([float(value)])).item())


def broadcast_string(text: str) -> str:
    """Broadcast a string from rank 0; an empty one means that rank 0 failed."""
    if world_size() == 1:
        return text
    content = torch.tensor(list(text.encode()), dtype=torch.uint8)
    length = torch.tensor([len(content)])
    distributed.broadcast(length, 0)
    if rank() > 0:
        content = torch.empty(int(length), dtype=torch.uint8)
    distributed.broadcast(content, 0)
    return bytes(content.tolist()).decode()
