"""The processes of a training: one by default, several under torchrun. Functions that do nothing when alone."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, distributed, nn


@contextmanager
def joined(device: torch.device) -> Iterator[None]:
    """Inside, the processes that torchrun started know one another (NCCL on GPUs, gloo on CPU)."""
    if "TORCHELASTIC_RUN_ID" not in os.environ and "LOCAL_RANK" not in os.environ:
        yield
        return
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield
    finally:
        distributed.destroy_process_group()


def rank() -> int:
    """This process's number; 0 writes."""
    return distributed.get_rank() if distributed.is_initialized() else 0


def size() -> int:
    """How many processes train together."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def wrapped(model: nn.Module) -> nn.Module:
    """The model whose backward averages gradients over all processes; alone, the model itself."""
    return nn.parallel.DistributedDataParallel(model) if size() > 1 else model


def bare(model: nn.Module) -> nn.Module:
    """The model without its wrapping."""
    return model.module if isinstance(model, nn.parallel.DistributedDataParallel) else model


def synchronised(model: nn.Module, last: bool) -> AbstractContextManager[Any]:
    """Whether this backward exchanges gradients: only the last part of a batch does."""
    if isinstance(model, nn.parallel.DistributedDataParallel) and not last:
        return model.no_sync()
    return nullcontext()


def summed(values: Tensor) -> Tensor:
    """The sum over all processes."""
    if size() > 1:
        distributed.all_reduce(values)
    return values


def gathered(value: Tensor) -> list[Tensor]:
    """The tensors of all processes, in order of rank."""
    if size() == 1:
        return [value]
    found = [torch.empty_like(value) for _ in range(size())]
    distributed.all_gather(found, value)
    return found


def any_of(wish: bool) -> bool:
    """Whether any process wishes so; all hear the same answer, so that they act in the same step."""
    return wish if size() == 1 else bool(summed(torch.tensor([float(wish)])).item())


def told(text: str) -> str:
    """What the first process says, heard by all; an empty text is the sign that it failed."""
    if size() == 1:
        return text
    content = torch.tensor(list(text.encode()), dtype=torch.uint8)
    length = torch.tensor([len(content)])
    distributed.broadcast(length, 0)
    if rank() > 0:
        content = torch.empty(int(length), dtype=torch.uint8)
    distributed.broadcast(content, 0)
    return bytes(content.tolist()).decode()
