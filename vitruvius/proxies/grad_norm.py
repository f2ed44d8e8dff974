r"""Length of the whole gradient vector (Abdelfattah et al. 2021).

$\|\nabla_\theta L\| = \sqrt{\sum_{i\in\theta} (\partial L/\partial\theta_i)^2}$ with the mean cross-entropy
$L$ of the minibatch; counted are all parameters: weights, biases, norms, class token and positions. Public
code adds up the norms of single layers instead, a different number with a different ranking:
`grad_norm_layers`.
"""

import math

import torch

from vitruvius.proxies import OnePass


def grad_norm(once: OnePass) -> float:
    """One Euclidean norm over all parameters."""
    # In float32 `vector_norm` loses one part in a million of a sum of millions of squares.
    found = (gradient.cpu() for gradient in once.gradients.values())  # Apple's GPUs have no float64
    return math.hypot(*(torch.linalg.vector_norm(gradient, dtype=torch.float64).item() for gradient in found))
