"""What the kernel tests share: inputs, and a measure of what autograd keeps."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor


@pytest.fixture
def saved_bytes() -> Callable[[Callable[[], Tensor]], int]:
    """How many bytes autograd keeps for the backward pass of a computation, each storage counted once."""

    def measure(compute: Callable[[], Tensor]) -> int:
        kept: list[Tensor] = []

        def pack(tensor: Tensor) -> Tensor:
            kept.append(tensor)
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            out = compute()
        assert out.requires_grad
        return sum({t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in kept}.values())

    return measure
