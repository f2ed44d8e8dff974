"""Questions as arrays and tensors in double precision, this package's kernels on matrices, torch's counters.

Shapes: N queries, M keys, D entries of a query or key, E entries of a value.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from vitruvius import kernels

Array = np.ndarray[Any, Any]


def arrays(*values: Any) -> list[Array]:
    """Vectors or matrices of a question as arrays of floats."""
    return [np.array(value, float) for value in values]


def tensor(rows: Any) -> Tensor:
    """Numbers, or nested sequences of them, in double precision."""

    def floats(value: Any) -> Any:
        return [floats(item) for item in value] if isinstance(value, Iterable) else float(value)

    return torch.tensor(floats(rows), dtype=torch.float64)


def tensors(*values: Any) -> list[Tensor]:
    """Vectors or matrices of a question as tensors."""
    return list(map(tensor, values))


def softmax(scores: Array) -> Array:
    """Weights along the last axis that add up to 1; the largest score is taken off first, so nothing
    overflows.
    """
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(powers / powers.sum(-1, keepdims=True))


def attend(
    kernel: str, q_ND: Tensor, k_MD: Tensor, v_ME: Tensor, *mask: Tensor | None, **options: Any
) -> Tensor:
    """What a kernel of this package gives for one head without a batch, (N, E)."""
    return kernels.get(kernel).attend(q_ND[None, None], k_MD[None, None], v_ME[None, None], *mask, **options)[
        0, 0
    ]


def weights(kernel: str, q_ND: Tensor, k_MD: Tensor, *mask: Tensor | None, **options: Any) -> Tensor:
    """The weights of a kernel of this package for one head without a batch, (N, M)."""
    return kernels.get(kernel).weights(q_ND[None, None], k_MD[None, None], *mask, **options)[0, 0]


def multiply_adds(run: Callable[[], Any]) -> int:
    """Multiply-adds of the matrix products: half the floating-point operations that torch counts."""
    with FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops() // 2


def kept(run: Callable[[], Tensor]) -> int:
    """Numbers that autograd saves for the backward pass, each storage counted once."""
    sizes: dict[int, int] = {}

    def pack(x: Tensor) -> Tensor:
        sizes[x.untyped_storage()._cdata] = x.untyped_storage().nbytes() // x.itemsize
        return x

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        output = run()  # alive until counted: storages must not be reused
    del output
    return sum(sizes.values())
