r"""Gradient accumulation: how far k micro-batches are from the one large batch that they should equal.

$\frac1k \sum_i \nabla \ell_i$ is the gradient of the whole batch only if no row of a batch influences
another. Everything is measured on copies of the network, which itself stays as it is.
"""

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

Accumulate: TypeAlias = Callable[[list[int], list[float]], tuple[Tensor, Tensor]]
"""Sizes of micro-batches, weight of each mean loss -> outputs of all rows, accumulated gradient."""
Measure: TypeAlias = Callable[[nn.Module, slice], tuple[Tensor, Tensor]]
"""A network, a range of rows of the batch -> the outputs of these rows and their mean loss."""


def by_modules(model: nn.Module, measure: Measure) -> Accumulate:
    """Accumulate gradients by one backward pass per micro-batch, as a training loop does."""

    def accumulate(sizes: list[int], shares: list[float]) -> tuple[Tensor, Tensor]:
        fresh, outputs, begin = deepcopy(model), [], 0
        fresh.zero_grad()
        for size, share in zip(sizes, shares, strict=True):
            output, loss = measure(fresh, slice(begin, begin + size))
            torch.autograd.backward(loss * share)
            outputs.append(output.detach())
            begin += size
        gradients = [weight.grad.flatten() for weight in fresh.parameters() if weight.grad is not None]
        return torch.cat(outputs), torch.cat(gradients)

    return accumulate


def difference(accumulate: Accumulate, sizes: list[int], shares: list[float]) -> tuple[float, float]:
    """The largest difference of an output, and the relative one of the gradient, from one large batch."""
    (output, gradient), (whole, wanted) = accumulate(sizes, shares), accumulate([sum(sizes)], [1.0])
    length = wanted.norm().item()
    off = (gradient - wanted).norm().item() / length if length else 0.0
    return round((output - whole).abs().max().item(), 12), round(off, 12)


def modules_mixing_rows(
    model: nn.Module, batch: int, call: Callable[[nn.Module], Any], tolerance: float
) -> list[str]:
    """Name the innermost modules whose output changes when their input is given in two halves.

    `call` runs a network on a whole batch; a module is tested if its only input is a tensor of `batch` rows.
    """
    fresh, found = deepcopy(model), []

    def test(name: str, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        tensors = len(args) == 1 and isinstance(args[0], Tensor) and isinstance(output, Tensor)
        if tensors and args[0].shape[:1] == (batch,) and _differs(module, args[0], output, tolerance):
            found.append(name or type(module).__name__)

    for name, module in fresh.named_modules():
        if next(module.children(), None) is None:
            module.register_forward_hook(partial(test, name))
    with torch.no_grad():
        call(fresh)
    return list(dict.fromkeys(found))


def _differs(module: nn.Module, x: Tensor, output: Tensor, tolerance: float) -> bool:
    try:
        halves = torch.cat([module.forward(half) for half in x.chunk(2)])
    except ValueError:  # BatchNorm refuses a single row of a (B, C) tensor
        return True
    if halves.shape != output.shape:
        return False
    return bool((halves - output).abs().max() > tolerance * output.abs().max())
