"""Facts of the tensors and modules that a training uses: hashes, sizes, labels, sums, statistics."""

from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.loss import _Loss

from vitruvius.checks import first_tensor
from vitruvius.doctor.rows import hash_rows

WEIGHTED = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.RNNBase)
NORMS = (_BatchNorm, nn.LayerNorm)
GOLDEN = 0.6180339887498949  # multiples of it, without their whole parts, lie evenly between 0 and 1


def is_network(module: nn.Module) -> bool:
    """Whether a module has parameters and is no loss."""
    return not isinstance(module, _Loss) and next(module.parameters(), None) is not None


def row_hashes(x: Tensor | None) -> list[int]:
    """A number for each of the first rows; none if there is no batch axis."""
    return hash_rows(x) if x is not None and x.dim() and len(x) else []


def batch_size(x: Tensor | None) -> int:
    """Rows of an input; 0 if it has no batch axis."""
    return len(x) if x is not None and x.dim() > x.is_floating_point() else 0


def one_number(value: Tensor) -> float | None:
    """The number that a tensor holds; None if it holds several."""
    return float(value) if value.numel() == 1 else None


def label_range(name: str, target: Any) -> tuple[float, float, int] | None:
    """Smallest and largest label and their number."""
    if not isinstance(target, Tensor) or not target.numel():
        return None
    classes = name in ("cross_entropy", "nll_loss") and not target.is_floating_point()
    if not classes and not name.startswith("binary_cross_entropy"):
        return None
    low, high = torch.aminmax(target.detach())
    return low.item(), high.item(), target.numel()


def type_name(tensor: Tensor | None) -> str:
    """The type of its numbers, as in float32."""
    return "" if tensor is None else str(tensor.dtype).removeprefix("torch.")


def is_continuous(x: Tensor | None) -> bool:
    """Whether the numbers of the first rows are mostly different, and no whole numbers."""
    if x is None or not x.is_floating_point() or x.dim() < 2 or x[0].numel() < 3:
        return False
    sample = x.detach()[:16].flatten()[:256]
    return len(torch.unique(sample)) > 0.5 * sample.numel() and bool(
        (sample != sample.round()).float().mean() > 0.5
    )


def uses_float16(x: Tensor) -> bool:
    """Whether autocast computes in float16 on the device of a tensor."""
    kind = x.device.type
    if kind not in ("cpu", "cuda") or not torch.is_autocast_enabled(kind):
        return False
    return torch.get_autocast_dtype(kind) == torch.float16


def detached(value: Any) -> Any:
    """A tensor without its graph; anything else as it is."""
    return value.detach() if isinstance(value, Tensor) else value


def spread_values(tensor: Tensor, count: int) -> list[float]:
    """So many numbers from all over a tensor, or all if it is small.

    Equal distances would often be whole rows and so pick one column, as that of a pixel that is always black.
    """
    flat = tensor.detach().flatten()
    return (flat if flat.numel() <= count else flat[_places(flat.numel(), count)]).tolist()


@lru_cache(maxsize=64)
def _places(length: int, count: int) -> Tensor:
    places = {int(length * (place * GOLDEN % 1)) for place in range(count)}
    return torch.tensor(sorted(places), device="cpu")


def first_values(tensor: Tensor) -> list[float]:
    """A few numbers, to see whether others have taken their place."""
    return tensor.detach().flatten()[:4].tolist()


def row_sums(scores: Tensor) -> tuple[bool, bool] | None:
    """Whether all rows of the scores are distributions, and whether all are logarithms of distributions."""
    scores = scores.detach().float()
    if bool(scores.isnan().any()):
        return None
    ones = bool(((scores.sum(1) - 1).abs() < 1e-3).all()) and bool((scores >= 0).all())
    return ones, bool(((scores.exp().sum(1) - 1).abs() < 1e-3).all())


def statistics(module: nn.Module, args: Any) -> tuple[float, float, float] | None:
    """Mean, standard deviation and largest magnitude of the input of the first layer with weights."""
    x = first_tensor(args)
    if not isinstance(module, WEIGHTED) or x is None or not x.is_floating_point() or x.numel() < 2:
        return (0.0, 1.0, 1.0)  # a normalisation comes first
    return float(x.mean()), float(x.std()), float(x.abs().max())
