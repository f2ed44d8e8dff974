r"""Linear attention (Katharopoulos et al. 2020): similarities of positive features, in time and memory O(N).

$w_{ij} = \phi(q_i) \cdot \phi(k_j)\, e^{m_{ij}} / \sum_l \phi(q_i) \cdot \phi(k_l)\, e^{m_{il}}$ with
$\phi(x) = \mathrm{elu}(x) + 1$: a float mask multiplies the similarity by its exponential, and $-\infty$
removes a key. Without a mask, with a causal mask and with one over keys only (padding) cost grows with N + M;
other masks are dense themselves and cost N times M, with O(N) kept for the backward pass.

Shapes: B batch, H heads, N queries, M keys, D query and key width, E value width.
"""

import math

import torch
from torch import Tensor

from vitruvius.kernels import Mask, _blocked, _features, _inputs


@_inputs.in_full_precision
def weights(q: Tensor, k: Tensor, mask: Mask = None) -> Tensor:
    """The weight of every key for every query (B, H, N, M)."""
    _inputs.check(q, k)
    return _blocked.weights(features(q), features(k), _inputs.factor(mask, q, k), _blocked.LINEAR)


@_inputs.in_full_precision
def attend(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None) -> Tensor:
    """The weighted mean of the values (B, H, N, E)."""
    _inputs.check(q, k, v)
    a, b = features(q), features(k)
    if _inputs.is_causal(mask):
        if _blocked.is_short(a, b):
            return _blocked.attend(a, b, v, None, _blocked.LINEAR, causal=True)
        return _features.attend(a, b, v, power=1, causal=True)
    factor = _inputs.factor(mask, q, k)
    if factor is not None and factor.shape[2] != 1:
        return _blocked.attend(a, b, v, factor, _blocked.LINEAR, causal=False)
    if factor is not None:
        b = b * factor.mT
    total_BHN1 = a @ b.sum(2).unsqueeze(-1)
    return a @ (b.mT @ v) / _blocked.divisor(total_BHN1, total_BHN1 == 0)


def features(x: Tensor) -> Tensor:
    """elu(x) + 1, positive and of the same shape.

    Not computed as that sum, which is 0 in float32 below x = -17; clamped, so that no product underflows.
    """
    least = 0.45 * math.log(torch.finfo(x.dtype).tiny)
    return torch.where(x > 0, x + 1, x.clamp(least, 0.0).exp())
