r"""Sum of the gradient norms of single layers: grad_norm as public code computes it.

$\sum_W \|\partial L/\partial W\|$ over the weights $W$ of linear maps, convolutions and attention
projections, with the mean cross-entropy $L$ of the minibatch. Biases, norms, class token and positions are
not counted. It is another number than `grad_norm`, one norm over all parameters, and orders networks
otherwise.
"""

import torch

from vitruvius.proxies import OnePass


def grad_norm_layers(once: OnePass) -> float:
    """The Euclidean norms of the gradients of all weight matrices, summed."""
    return sum(torch.linalg.vector_norm(once.gradients[name]).item() for name in once.matrices)
