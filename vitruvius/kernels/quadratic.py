r"""Quadratic attention: weights grow with the exact kernel (q.k + 1)^2, in O(N) memory.

$w_{ij} = (q_i \cdot k_j + 1)^2 e^{m_{ij}} / \sum_l (q_i \cdot k_l + 1)^2 e^{m_{il}}$: a float mask multiplies
the similarity by its exponential, and $-\infty$ removes a key. A row whose similarities all vanish gives 0.

Two routes compute the same numbers: `blocked` goes over all pairs, a block of queries at a time, `features`
writes the similarity as a product of (D+1)(D+2)/2 features and goes once over queries and keys. Both compute
their intermediate results again in the backward pass. `auto` takes the cheaper one; both know the causal
mask, any other mask is blocked.

Shapes: B batch, H heads, N queries, M keys, D query and key width, E value width, C features.
"""

import torch
from torch import Tensor

from vitruvius.arch import cost
from vitruvius.core.errors import unknown
from vitruvius.kernels import Mask, _blocked, _features, _inputs

ROUTES = ("auto", "blocked", "features")


@_inputs.in_full_precision
def weights(q: Tensor, k: Tensor, mask: Mask = None) -> Tensor:
    """The weight of every key for every query (B, H, N, M)."""
    _inputs.check(q, k)
    return _blocked.weights(q, k, _inputs.factor(mask, q, k), _blocked.QUADRATIC)


@_inputs.in_full_precision
def attend(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None, *, route: str = "auto") -> Tensor:
    """The weighted mean of the values (B, H, N, E)."""
    _inputs.check(q, k, v)
    if route not in ROUTES:
        raise unknown("route", route, ROUTES)
    causal = _inputs.is_causal(mask)
    factor = None if causal else _inputs.factor(mask, q, k)
    if route == "auto":
        heads, (_, _, queries, width) = q.shape[0] * q.shape[1], q.shape
        route = "features" if cost.features_pay(heads, queries, k.shape[2], width, causal) else "blocked"
    if route == "features" and factor is None:
        return _features.attend(q, k, v, power=2, causal=causal)
    return _blocked.attend(q, k, v, factor, _blocked.QUADRATIC, causal=causal)


def features(x: Tensor) -> Tensor:
    """The feature map (..., D) -> (..., (D+1)(D+2)/2): features(q) @ features(k).mT is (q @ k.mT + 1) ** 2.

    With y = (x, 1) these are all squares of y, then sqrt(2) times all products of two different entries.

    >>> features(torch.tensor([3.0])).tolist()
    [9.0, 1.0, 4.242640495300293]
    """
    y = torch.cat([x, torch.ones_like(x[..., :1])], -1)
    i, j = torch.triu_indices(y.shape[-1], y.shape[-1], offset=1, device=x.device)
    return torch.cat([y * y, y[..., i] * y[..., j] * 2.0**0.5], -1)
