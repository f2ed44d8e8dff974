r"""Attention by a similarity $(a_i \cdot b_j)^p = \phi(a_i) \cdot \phi(b_j)$ by its feature map, in chunks.

$o_i = \phi(a_i)^T U / \phi(a_i)^T z$ with the state $[U, z] = \sum_j \phi(b_j) [v_j, 1]^T$: time grows with N
+ M. For $p = 1$ a and b are q and k and the map is the identity; for $p = 2$ they are $[q, 1]$ and $[k, 1]$
and the map holds $x_i^2$ and $\sqrt 2 x_i x_j$ with $i < j$. Features exist for one chunk at a time and are
computed again in the backward pass, so training keeps O(N) numbers. Under the causal mask the state runs
along the chunks and a chunk sees its own keys through the similarity itself.

Shapes: G heads of all batches, N queries, M keys, D width of a and b, C features, E value width plus one.
Inside, a and b are feature-major (G, D, N): products of whole rows, at D = 16, 32, 64 taking 0.9, 0.7, 0.6 of
the time of the full outer product, which needs no pairs but twice the features.
"""

from collections.abc import Callable, Iterator
from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from vitruvius.arch.cost import SHARING_HEADS
from vitruvius.kernels._blocked import divisor, floor

# Columns (tokens times heads) of one chunk of features and the numbers it may hold (16 MiB of float32):
# smaller chunks pay for the calls (1.7 times as long at an eighth), larger ones for leaving the cache.
CHUNK_COLUMNS = 4096
CHUNK_NUMBERS = 2**22
# Tokens of a causal chunk by power: it also computes its own similarities, which cost tokens squared.
CAUSAL_TOKENS = {1: 128, 2: 256}
SQRT2 = 2.0**0.5


@torch.compiler.disable  # type: ignore[untyped-decorator]  # a compiler would unroll the loops over chunks and features
def attend(q: Tensor, k: Tensor, v: Tensor, power: int, causal: bool) -> Tensor:
    """The weighted mean of the values: (B, H, N, D), (B, H, M, D), (B, H, M, E - 1) -> (B, H, N, E - 1)."""
    a_GDN, b_GDM = (_feature_major(x, power) for x in (q, k))
    v_GME = torch.cat([v, torch.ones_like(v[..., :1])], -1).flatten(0, 1)
    parts = zip(*(torch.split(x, SHARING_HEADS) for x in (a_GDN, b_GDM, v_GME)), strict=True)
    out_GNE = torch.cat([_chunked(*part, power, causal) for part in parts])
    return out_GNE.view(*q.shape[:3], v.shape[3])


def _feature_major(x: Tensor, power: int) -> Tensor:
    """Transpose (B, H, N, D) to (G, D, N); for the square a row of ones is appended."""
    x_GDN = x.flatten(0, 1).mT
    if power == 1:
        return x_GDN.contiguous()
    return torch.cat([x_GDN, torch.ones_like(x_GDN[:, :1])], 1)


def expand(x: Tensor, power: int, buffer: Tensor) -> Tensor:
    """The features of every column, (G, D, N) -> (G, C, N), in `buffer`: squares first, then the pairs."""
    if power == 1:
        return x
    width = x.shape[1]
    phi = _view(buffer, x.shape[0], width * (width + 1) // 2, x.shape[2])
    torch.mul(x, x, out=phi[:, :width])
    scaled = x * SQRT2
    for i, pairs in _pairs(width):
        torch.mul(scaled[:, i : i + 1], x[:, i + 1 :], out=phi[:, pairs])
    return phi


def pull_back(x: Tensor, state: Tensor, dy: Tensor, power: int, buffer: Tensor) -> Tensor:
    """The gradient of x from that of its features, `state @ dy.mT`, which is computed in `buffer`."""
    if power == 1:
        return state @ dy.mT
    width = x.shape[1]
    d_phi = torch.bmm(state, dy.mT, out=_view(buffer, state.shape[0], state.shape[1], x.shape[2]))
    dx = d_phi[:, :width] * x * 2
    scaled = x * SQRT2
    for i, pairs in _pairs(width):
        d = d_phi[:, pairs]
        dx[:, i + 1 :].addcmul_(d, scaled[:, i : i + 1])
        dx[:, i] += d.mul_(scaled[:, i + 1 :]).sum(1)
    return dx


def _pairs(width: int) -> Iterator[tuple[int, slice]]:
    """Yield each row with the slice of the features that holds its products with the rows below it."""
    start = width
    for i in range(width - 1):
        yield i, slice(start, start + width - 1 - i)
        start += width - 1 - i


def _view(buffer: Tensor, groups: int, rows: int, columns: int) -> Tensor:
    return buffer[: groups * rows * columns].view(groups, rows, columns)


class _Chunked(torch.autograd.Function):
    """Attention that keeps a, b, v, output, row sums and (without a mask) the state, but no features."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, v: Tensor, power: int, causal: bool) -> Tensor:
        out = v.new_empty(a.shape[0], a.shape[2], v.shape[2] - 1)
        total = v.new_empty(a.shape[0], a.shape[2], 1)
        state, step, buffer = _start(a, v, power, causal)
        if not causal:
            for keys in _chunks(b, step):
                state.baddbmm_(expand(b[:, :, keys], power, buffer), v[:, keys])
        for rows in _chunks(a, step):
            phi = expand(a[:, :, rows], power, buffer)
            y, noise = phi.mT @ state, _noise(phi, state, a.shape[1], power)
            if causal:
                y += (a[:, :, rows].mT @ b[:, :, rows]).pow_(power).tril_() @ v[:, rows]
                state.baddbmm_(expand(b[:, :, rows], power, buffer), v[:, rows])
            total[:, rows] = divisor(y[..., -1:], y[..., -1:] <= noise)
            out[:, rows] = y[..., :-1] / total[:, rows]
        ctx.save_for_backward(a, b, v, out, total, None if causal else state)
        ctx.power, ctx.causal = power, causal
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_out: Tensor) -> tuple[Tensor | None, ...]:
        a, b, v, out, total, state = ctx.saved_tensors
        d_out = d_out / total
        dy = torch.cat([d_out, -(d_out * out).sum(-1, keepdim=True)], -1)
        if ctx.causal:
            return *_causal_backward(a, b, v, dy, ctx.power), None, None
        da, db, dv = torch.empty_like(a), torch.empty_like(b), torch.empty_like(v)
        d_state, step, buffer = _start(a, v, ctx.power, causal=False)
        for rows in _chunks(a, step):
            d_state.baddbmm_(expand(a[:, :, rows], ctx.power, buffer), dy[:, rows])
            da[:, :, rows] = pull_back(a[:, :, rows], state, dy[:, rows], ctx.power, buffer)
        for keys in _chunks(b, step):
            dv[:, keys] = expand(b[:, :, keys], ctx.power, buffer).mT @ d_state
            db[:, :, keys] = pull_back(b[:, :, keys], d_state, v[:, keys], ctx.power, buffer)
        return da, db, dv, None, None


_chunked = cast("Callable[..., Tensor]", _Chunked.apply)


def _causal_backward(a: Tensor, b: Tensor, v: Tensor, dy: Tensor, power: int) -> tuple[Tensor, ...]:
    """Pass forward over the chunks with the state of the keys, then back with the gradient of that state."""
    da, db, dv = torch.empty_like(a), torch.zeros_like(b), torch.zeros_like(v)
    state, step, buffer = _start(a, v, power, causal=True)
    chunks = list(_chunks(a, step))
    for rows in chunks:
        a_, b_, v_, dy_ = a[:, :, rows], b[:, :, rows], v[:, rows], dy[:, rows]
        product = (a_.mT @ b_).tril_()
        d_product = (dy_ @ v_.mT).tril_()
        if power == 2:
            d_product.mul_(product).mul_(2)
        da[:, :, rows] = pull_back(a_, state, dy_, power, buffer) + b_ @ d_product.mT
        db[:, :, rows] = a_ @ d_product
        dv[:, rows] = product.pow_(power).mT @ dy_
        state.baddbmm_(expand(b_, power, buffer), v_)
    d_state = state.zero_()
    for rows in reversed(chunks):
        db[:, :, rows] += pull_back(b[:, :, rows], d_state, v[:, rows], power, buffer)
        dv[:, rows] += expand(b[:, :, rows], power, buffer).mT @ d_state
        d_state.baddbmm_(expand(a[:, :, rows], power, buffer), dy[:, rows])
    return da, db, dv


def _start(a: Tensor, v: Tensor, power: int, causal: bool) -> tuple[Tensor, int, Tensor]:
    """A zero state (G, C, E), the number of tokens of a chunk, and a buffer for the features of one chunk."""
    groups, width, _ = a.shape
    features = width if power == 1 else width * (width + 1) // 2
    step = min(CHUNK_COLUMNS, CHUNK_NUMBERS // features) // max(1, groups)
    step = max(1, min(step, CAUSAL_TOKENS[power]) if causal else step)
    buffer = v.new_empty(0 if power == 1 else groups * features * step)
    return v.new_zeros(groups, features, v.shape[2]), step, buffer


def _chunks(x: Tensor, step: int) -> Iterator[slice]:
    return (slice(start, min(start + step, x.shape[2])) for start in range(0, x.shape[2], step))


def _noise(phi: Tensor, state: Tensor, width: int, power: int) -> Tensor | float:
    r"""The rounding error of the sum of similarities (G, N, 1); smaller sums are terms that cancelled.

    That of $\phi(a_i)^T z$ is relative to $|a_i|^2 \sum_j |b_j|^2$ (the squares are the first features); a
    causal chunk adds up to 1, 2, 3 ... similarities of its own.
    """
    if power == 1:
        return 0.0
    size = phi[:, :width].sum(1).unsqueeze(-1) * state[:, :width, -1].sum(1).view(-1, 1, 1)
    own = torch.arange(1, phi.shape[2] + 1, device=phi.device).unsqueeze(-1) * floor(phi.dtype, width, power)
    return 4 * torch.finfo(phi.dtype).eps * size + own
