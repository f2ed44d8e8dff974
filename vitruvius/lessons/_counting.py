"""Torch's own counters of what a computation costs."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor


def multiply_adds(run: Callable[[], Any]) -> int:
    """Multiply-adds of the matrix products: half the floating-point operations that torch counts."""
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops() // 2


def kept(run: Callable[[], "Tensor"]) -> int:
    """Numbers that autograd saves for the backward pass, each storage counted once."""
    import torch

    sizes: dict[int, int] = {}

    def pack(x: "Tensor") -> "Tensor":
        sizes[x.untyped_storage()._cdata] = x.untyped_storage().nbytes() // x.itemsize
        return x

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        output = run()  # alive until counted: storages must not be reused
    del output
    return sum(sizes.values())
