r"""Gradients that agree between batches (ZiCo, Li et al. 2023).

$\sum_l \log \sum_{w \in l} \mathrm{E}_k|g_w| / \mathrm{std}_k(g_w)$ over the weights of linear maps,
convolutions and attention projections $l$, with the gradients $g$ of $k = 2$ batches, the halves of the
minibatch; std divides by $k$. Weights whose gradients do not differ (dead ones) are left out. A
collection of proxies takes one batch and the deviation over the weights of a layer, which is another
quantity.
"""

import math

from torch import Tensor

from vitruvius.proxies import OnePass


def zico(once: OnePass) -> float:
    """The logarithm of the summed ratios of mean size to deviation, over layers."""
    first, second = once.halves
    ratios = [_ratio(first[name], second[name]) for name in once.matrices]
    return sum(math.log(ratio) for ratio in ratios if ratio != 0)  # NaN stays NaN


def _ratio(first: Tensor, second: Tensor) -> float:
    """Of two values the mean is half their sum and the deviation half their distance."""
    distance = (first - second).abs_()
    ratio = first.abs().add_(second.abs()).div_(distance)
    return ratio.masked_fill_(distance == 0, 0).sum().item()
