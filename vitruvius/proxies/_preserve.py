"""Run a network in evaluation mode and restore its state, and that of the random generators, afterwards."""

import copy
import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import nn

from vitruvius.nn.seeding import torch_seeded


@contextmanager
def preserved(model: nn.Module, seed: int) -> Iterator[None]:
    """Set evaluation mode, make all parameters differentiable, seed the generators; restore all on exit."""
    modes = [(module, module.training) for module in model.modules()]
    held = [(module, name) for module, _ in modes for name in module._buffers]
    kept = [(module, name, module._buffers[name]) for module, name in held]
    buffers = [(module, name, buffer, buffer.clone()) for module, name, buffer in kept if buffer is not None]
    try:
        with seeded(seed), torch.enable_grad(), differentiable(model):
            model.eval()
            yield
    finally:
        for module, training in modes:
            module.training = training
        for module, name, buffer, value in buffers:
            module._buffers[name] = buffer
            if not torch.equal(buffer, value):  # else it keeps its version, which autograd graphs compare
                buffer.detach().copy_(value)


@contextmanager
def differentiable(model: nn.Module) -> Iterator[None]:
    """Let frozen parameters require gradients inside the context."""
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
    """Seed the global generators of torch, numpy and Python; restore their states on exit."""
    python, numpy_ = random.getstate(), np.random.get_state()
    with torch_seeded(seed):
        np.random.seed(seed % 2**32)
        random.seed(seed)
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy_)


def fresh_copy(model: nn.Module) -> nn.Module:
    """Return a deep copy in evaluation mode with differentiable parameters; the caller may change it."""
    return copy.deepcopy(model).eval().requires_grad_(True)
