r"""Attention by a similarity $\kappa_{ij} = f_{ij}\,(a_i \cdot b_j + c)^p$, a block of queries at a time.

$o_i = \sum_j \kappa_{ij} v_j / \sum_j \kappa_{ij}$ with $f$ from the mask. The similarities of a block are
not kept: the backward pass computes them again, so training keeps O(N) numbers for O(N M) work.

Shapes: B batch, H heads, G heads of all batches, N queries, M keys, D width of a and b, E value width.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

# 1 MiB of float32: two such blocks fill the second-level cache of a core, and blocks of 4 MiB took 1.2 times
# as long.
BLOCK_SCORES = 2**18
BLOCK_ROWS = 128

# Pairs of a query and a key up to which autograd stores all weights: storing took half the time at 17 tokens,
# the same at 65 and 1.8 times as long at 128.
STORED_PAIRS = 64 * 64


class Similarity(NamedTuple):
    """The parameters of $(a \\cdot b + c)^p$."""

    power: int  # p, 1 or 2
    offset: float  # c


LINEAR = Similarity(1, 0.0)
QUADRATIC = Similarity(2, 1.0)


def weights(a: Tensor, b: Tensor, factor: Tensor | None, similarity: Similarity) -> Tensor:
    """Compute all weights at once, (B, H, N, M)."""
    kappa_BHNM = _product(a, b, similarity) ** similarity.power
    if factor is not None:
        kappa_BHNM = kappa_BHNM * factor
    return kappa_BHNM / _divisor(kappa_BHNM, floor(a.dtype, a.shape[-1], similarity.power))


def attend(
    a: Tensor, b: Tensor, v: Tensor, factor: Tensor | None, similarity: Similarity, causal: bool
) -> Tensor:
    """The weighted mean of the values (B, H, N, E); short sequences are differentiated by autograd."""
    if is_short(a, b):
        if causal:
            factor = torch.ones(a.shape[2], b.shape[2], dtype=torch.bool, device=a.device).tril()
        return weights(a, b, factor, similarity) @ v
    if factor is not None:
        factor = factor.expand(*a.shape[:2], -1, -1).flatten(0, 1)
    out_GNE = _in_groups(a.flatten(0, 1), b.flatten(0, 1), v.flatten(0, 1), factor, similarity, causal)
    return out_GNE.view(*a.shape[:3], v.shape[3])


def is_short(a: Tensor, b: Tensor) -> bool:
    """Whether there are so few pairs of a query and a key that storing all weights is faster."""
    return a.shape[2] * b.shape[2] <= STORED_PAIRS


def floor(dtype: torch.dtype, width: int, power: int) -> float:
    """The largest similarity that can be the rounding error of products that cancel to 0."""
    if power == 1:
        return 0.0  # the features of linear attention are positive: nothing cancels
    return float(4 * width * torch.finfo(dtype).eps ** 2)


def divisor(total: Tensor, empty: Tensor) -> Tensor:
    """The row sums, infinite for an empty row, so that its output and gradients are 0."""
    return total.masked_fill(empty, torch.inf)


def _divisor(kappa: Tensor, smallest: float) -> Tensor:
    return divisor(kappa.sum(-1, keepdim=True), kappa.detach().amax(-1, keepdim=True) <= smallest)


@torch.compiler.disable  # type: ignore[untyped-decorator]  # a compiler would unroll the loop over the blocks
def _in_groups(
    a: Tensor, b: Tensor, v: Tensor, factor: Tensor | None, similarity: Similarity, causal: bool
) -> Tensor:
    """Attend with as many heads at a time as fill a block."""
    heads = max(1, BLOCK_SCORES // (min(BLOCK_ROWS, a.shape[1]) * b.shape[1]))
    parts = [torch.split(x, heads) for x in (a, b, v)]
    factors = [None] * len(parts[0]) if factor is None else torch.split(factor, heads)
    return torch.cat([_blocked(*part, similarity, causal) for part in zip(*parts, factors, strict=True)])


class _Blocked(torch.autograd.Function):
    """Attention that keeps a (G, N, D), b (G, M, D), v (G, M, E), the factor, the output and the row sums."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, v: Tensor, factor: Tensor | None, *how: Any) -> Tensor:
        similarity, causal = ctx.how = how
        out, total = a.new_empty(*a.shape[:2], v.shape[2]), a.new_empty(*a.shape[:2], 1)
        smallest = floor(a.dtype, a.shape[-1], similarity.power)
        for rows, keys in _blocks(a, b, causal):
            kappa = _product(a[:, rows], b[:, keys], similarity).pow_(similarity.power)
            _hide(kappa, factor, rows, causal)
            total[:, rows] = _divisor(kappa, smallest)
            out[:, rows] = kappa @ v[:, keys] / total[:, rows]
        ctx.save_for_backward(a, b, v, factor, out, total)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_out: Tensor) -> tuple[Tensor | None, ...]:
        a, b, v, factor, out, total = ctx.saved_tensors
        similarity, causal = ctx.how
        da, db, dv = torch.empty_like(a), torch.zeros_like(b), torch.zeros_like(v)
        d_factor = torch.zeros_like(factor) if ctx.needs_input_grad[3] else None
        d_out = d_out / total
        mean = (d_out * out).sum(-1, keepdim=True)
        for rows, keys in _blocks(a, b, causal):
            product = _product(a[:, rows], b[:, keys], similarity)
            d_product = (d_out[:, rows] @ v[:, keys].mT).sub_(mean[:, rows])
            if similarity.power == 2:
                d_product.mul_(product)  # the factor 2 is applied to the sums, which are smaller
            if d_factor is not None:
                part = _rows(d_factor, rows)
                part += (d_product * product).sum_to_size(part.shape)
            _hide(d_product, factor, rows, causal)
            da[:, rows] = d_product @ b[:, keys]
            db[:, keys].baddbmm_(d_product.mT, a[:, rows])
            kappa = product.pow_(similarity.power)
            _hide(kappa, factor, rows, causal)
            dv[:, keys].baddbmm_(kappa.mT, d_out[:, rows])
        return da.mul_(similarity.power), db.mul_(similarity.power), dv, d_factor, None, None


_blocked = cast("Callable[..., Tensor]", _Blocked.apply)


def _product(a: Tensor, b: Tensor, similarity: Similarity) -> Tensor:
    product = a @ b.mT
    return product.add_(similarity.offset) if similarity.offset else product


def _blocks(a: Tensor, b: Tensor, causal: bool) -> Iterator[tuple[slice, slice]]:
    """Yield ranges of queries with the keys that they may attend to."""
    queries, keys = a.shape[1], b.shape[1]
    step = max(1, min(BLOCK_ROWS, BLOCK_SCORES // keys))
    for start in range(0, queries, step):
        stop = min(start + step, queries)
        yield slice(start, stop), slice(0, min(stop, keys) if causal else keys)


def _rows(factor: Tensor, rows: slice) -> Tensor:
    return factor[:, rows] if factor.shape[1] > 1 else factor


def _hide(kappa: Tensor, factor: Tensor | None, rows: slice, causal: bool) -> None:
    """Set to 0, in place, the pairs that the mask hides from the queries `rows`."""
    if causal:
        kappa.tril_(rows.start)
    elif factor is not None:
        kappa.mul_(_rows(factor, rows))
