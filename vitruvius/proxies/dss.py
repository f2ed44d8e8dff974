r"""Diversity of attention and saliency of the MLP (TF-TAS, Zhou et al. 2022).

$\sum_{\mathrm{attention}} \|\partial R/\partial W\|_* \|W\|_* + \sum_{\mathrm{MLP}} |w\,\partial R/\partial
w|$ with nuclear norms and $R$ and absolute weights as in synflow. Attention is the weights of attention
modules (query, key and value as one matrix where the module holds one); the MLP is each linear map whose
output enters an activation function, and the one behind it. Public code finds attention by the name qkv or by
equal numbers of inputs and outputs, and the head by its 1000 classes.
"""

import torch

from vitruvius.core.errors import UserError
from vitruvius.proxies import OnePass


def dss(once: OnePass) -> float:
    """Nuclear norms of attention matrices times those of their gradients, plus synaptic flow of the MLPs."""
    flow = once.flow
    if not flow.attention:
        raise UserError("the network has no attention modules (ours or nn.MultiheadAttention)")
    diversity = sum(_nuclear(flow.weights[name]) * _nuclear(flow.gradients[name]) for name in flow.attention)
    saliency = sum((flow.weights[name] * flow.gradients[name]).abs().sum().item() for name in flow.mlp)
    return diversity + saliency


def _nuclear(matrix: torch.Tensor) -> float:
    # Eigenvalues of the Gram matrix would be cheaper, but a gradient has at most as many ranks as tokens, and
    # the square roots of rounding errors in the other eigenvalues add up.
    return torch.linalg.svdvals(matrix).sum().item()
