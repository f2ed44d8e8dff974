"""Questions as torch tensors in double precision, and this package's kernels on plain matrices.

Shapes: N queries, M keys, D entries of a query or key, E entries of a value.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor


def tensor(rows: Any) -> "Tensor":
    """Numbers, or nested sequences of them, in double precision."""
    import torch

    def floats(value: Any) -> Any:
        return [floats(item) for item in value] if isinstance(value, Iterable) else float(value)

    return torch.tensor(floats(rows), dtype=torch.float64)


def attend(kernel: str, q_ND: "Tensor", k_MD: "Tensor", v_ME: "Tensor", **options: Any) -> "Tensor":
    """What a kernel of this package gives for one head without a batch, (N, E)."""
    from vitruvius import kernels

    return kernels.get(kernel).attend(q_ND[None, None], k_MD[None, None], v_ME[None, None], **options)[0, 0]
