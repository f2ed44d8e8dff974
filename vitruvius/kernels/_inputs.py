"""Inputs of attention: checked, every form of mask as one tensor, half precision computed in float32.

Shapes: B batch, H heads, N queries, M keys, D query and key width, E value width, L edges.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, cast

import torch
from torch import Tensor

from vitruvius.core.errors import UserError, unknown
from vitruvius.kernels import Edges, Mask

P = ParamSpec("P")
HALF = (torch.float16, torch.bfloat16)


def check(q: Tensor, k: Tensor, v: Tensor | None = None) -> None:
    """Refuse inputs that are not four-dimensional, differ in a shared size or are not of one float type."""
    fit = q.dim() == k.dim() == 4 and q.shape[:2] == k.shape[:2] and q.shape[3] == k.shape[3]
    fit = fit and (v is None or (v.dim() == 4 and v.shape[:3] == k.shape[:3]))
    if not fit or k.shape[2] == 0 or k.shape[3] == 0:
        given = [("q", q), ("k", k)] if v is None else [("q", q), ("k", k), ("v", v)]
        raise UserError(
            f"attention inputs {', '.join(f'{name} {tuple(x.shape)}' for name, x in given)}: expected "
            "q (batch, heads, queries, width), k (batch, heads, keys, width) and "
            "v (batch, heads, keys, value width), with at least one key and a width of at least 1"
        )
    types = {x.dtype for x in (q, k, v) if x is not None}
    if len(types) > 1 or not q.is_floating_point():
        kinds = ", ".join(sorted(map(str, types)))
        raise UserError(f"attention inputs of type {kinds}: expected one type of floats")


def is_causal(mask: Mask) -> bool:
    """Whether the mask is the word 'causal'; any other word is refused."""
    if not isinstance(mask, str):
        return False
    if mask != "causal":
        raise unknown("mask", mask, ["causal"], "or None, a bool or float tensor, or Edges")
    return True


def dense(mask: Mask, q: Tensor, k: Tensor) -> Tensor | None:
    """The mask as a 4-D tensor that broadcasts to (B, H, N, M), bool or float; None stays None."""
    if mask is None:
        return None
    queries, keys = q.shape[2], k.shape[2]
    if is_causal(mask):
        return torch.ones(1, 1, queries, keys, dtype=torch.bool, device=q.device).tril()
    if isinstance(mask, Edges):
        source, target = checked_edges(mask, queries, keys)
        seen = torch.zeros(queries * keys, dtype=torch.bool, device=q.device)
        return seen.index_fill(0, target * keys + source, True).view(1, 1, queries, keys)
    if not isinstance(mask, Tensor) or not (mask.dtype == torch.bool or mask.is_floating_point()):
        kind = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
        raise UserError(f"mask of type {kind}: expected None, 'causal', a bool or float tensor, or Edges")
    full = (*q.shape[:3], keys)
    if mask.dim() > 4 or any(m not in (1, n) for m, n in zip(mask.shape[::-1], full[::-1], strict=False)):
        wanted = f"(batch, heads, queries, keys) = {full}"
        raise UserError(f"mask of shape {tuple(mask.shape)} does not broadcast to {wanted}")
    mask = mask[(None,) * (4 - mask.dim())]
    return mask if mask.dtype == torch.bool else _narrowed(mask, q.dtype)


def _narrowed(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """Convert a float mask to the queries' type; finite values stay finite, because -inf hides a key."""
    least = torch.finfo(dtype).min
    if torch.finfo(mask.dtype).min < least:
        mask = torch.where(mask == -torch.inf, mask, mask.clamp(least, -least))
    return mask.to(dtype)


def hidden(mask: Tensor) -> Tensor:
    """True where a dense mask forbids a query to attend."""
    return ~mask if mask.dtype == torch.bool else mask == -torch.inf


def factor(mask: Mask, q: Tensor, k: Tensor) -> Tensor | None:
    r"""The factor of a similarity by a mask: bool as 0 or 1, float as $\exp(m_{ij} - \max_j m_{ij})$.

    The shift cancels when a row is normalised and keeps any finite mask from overflowing.
    """
    bias = dense(mask, q, k)
    if bias is None or bias.dtype == torch.bool:
        return bias
    top = bias.detach().amax(-1, keepdim=True).clamp(min=torch.finfo(bias.dtype).min)
    return (bias - top).exp()


def checked_edges(edges: Edges, queries: int, keys: int) -> Edges:
    """The edges as int64, checked to be integers of one length, in range and without duplicates."""
    source, target = edges
    if source.dim() != 1 or source.shape != target.shape:
        shapes = f"source {tuple(source.shape)} and target {tuple(target.shape)}"
        raise UserError(f"mask of edges: {shapes} must be lists of one length")
    for name, index, size in (("source", source, keys), ("target", target, queries)):
        if index.is_floating_point() or index.is_complex() or index.dtype == torch.bool:
            raise UserError(f"mask of edges: {name} has type {index.dtype}, expected integers")
        if len(index) and not 0 <= int(index.min()) <= int(index.max()) < size:
            expected = f"indices of {size} {'keys' if name == 'source' else 'queries'}, 0 to {size - 1}"
            reach = f"from {int(index.min())} to {int(index.max())}"
            raise UserError(f"mask of edges: {name} reaches {reach}, expected {expected}")
    source, target = source.long(), target.long()
    pair, count = torch.unique(target * keys + source, return_counts=True)
    if len(pair) < len(source):
        end, start = divmod(int(pair[count > 1][0]), keys)
        raise UserError(f"mask of edges: the edge from {start} to {end} is given more than once")
    return Edges(source, target)


def in_full_precision(kernel: Callable[P, Tensor]) -> Callable[P, Tensor]:
    """Run a kernel, which sums many terms, in float32 if its inputs have half precision; return theirs."""

    @wraps(kernel)
    def run(*args: P.args, **options: P.kwargs) -> Tensor:
        q = cast(Tensor, args[0] if args else options["q"])
        if q.dtype not in HALF and not torch.is_autocast_enabled(q.device.type):
            return kernel(*args, **options)
        with torch.autocast(q.device.type, enabled=False):
            full = {name: _full(value) for name, value in options.items()}
            return cast(Any, kernel)(*map(_full, args), **full).to(q.dtype)

    return run


def _full(value: object) -> object:
    return value.float() if isinstance(value, Tensor) and value.dtype in HALF else value
