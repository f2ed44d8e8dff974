r"""Diversity of attention and saliency of the other weights (TF-TAS, Zhou et al. 2022).

$\sum_{\mathrm{attention}} \|\partial R/\partial W\|_* \|W\|_* + \sum_{\mathrm{others}} |w\,\partial
R/\partial w|$ with nuclear norms and $R$ and absolute weights as in synflow. Attention is its projections
(query, key and value as one matrix where the network holds one); the others are the MLPs, the patch map and
the head, as in the authors' code, which finds attention by the name qkv or by equal numbers of inputs and
outputs, and the head by its 1000 classes.
"""

import torch

from vitruvius.core.errors import UserError
from vitruvius.proxies import OnePass


def dss(once: OnePass) -> float:
    """Nuclear norms of attention matrices times those of their gradients, plus synaptic flow of the rest."""
    flow = once.flow
    if not flow.attention:
        raise UserError("the network has no attention whose projections can be told from other linear maps")
    score = 0.0
    for name, weight in flow.weights.items():
        gradient = flow.gradients[name]
        if name in flow.attention:
            score += _nuclear(weight) * _nuclear(gradient)
        else:
            score += (weight * gradient).abs().sum().item()
    return score


def _nuclear(matrix: torch.Tensor) -> float:
    # Eigenvalues of the Gram matrix would be cheaper, but a gradient has at most as many ranks as tokens, and
    # the square roots of rounding errors in the other eigenvalues add up.
    return torch.linalg.svdvals(matrix).sum().item()
