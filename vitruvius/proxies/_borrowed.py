"""A network on loan: looked at in evaluation mode, given back exactly as it was."""

import copy
import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import nn


@contextmanager
def borrowed(model: nn.Module, seed: int) -> Iterator[None]:
    """Inside: evaluation mode, every parameter differentiable, all randomness seeded. Afterwards: nothing happened."""
    modes = [(module, module.training) for module in model.modules()]
    buffers = [
        (module, name, buffer, buffer.clone())
        for module, _ in modes
        for name, buffer in module._buffers.items()
        if buffer is not None
    ]
    try:
        with seeded(seed), torch.enable_grad(), differentiable(model):
            model.eval()
            yield
    finally:
        for module, training in modes:
            module.training = training
        for kept in buffers:
            _restore(*kept)


@contextmanager
def differentiable(model: nn.Module) -> Iterator[None]:
    """Inside, frozen parameters take part in gradients as well."""
    frozen = [parameter for parameter in model.parameters() if not parameter.requires_grad]
    try:
        for parameter in frozen:
            parameter.requires_grad_(True)
        yield
    finally:
        for parameter in frozen:
            parameter.requires_grad_(False)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Inside, the global generators of torch, numpy and Python start at a seed; afterwards they are where they were."""
    python, numpy_ = random.getstate(), np.random.get_state()
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()  # type: ignore[no-untyped-call]
    with torch.random.fork_rng(devices):
        torch.manual_seed(seed)
        np.random.seed(seed % 2**32)
        random.seed(seed)
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy_)


def fresh_copy(model: nn.Module) -> nn.Module:
    """A deep copy to change at will, in evaluation mode, every parameter differentiable."""
    return copy.deepcopy(model).eval().requires_grad_(True)


def _restore(module: nn.Module, name: str, buffer: torch.Tensor, value: torch.Tensor) -> None:
    """The same tensor with the same value; untouched buffers keep their version, which kept graphs look at."""
    module._buffers[name] = buffer
    if not torch.equal(buffer, value):
        buffer.detach().copy_(value)
