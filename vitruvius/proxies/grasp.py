r"""Gradient flow after pruning (Wang et al. 2020): curvature along the gradient, times the weights.

$-\sum_{i\in\theta} \theta_i\,(Hg)_i$ with $g = \partial L/\partial\theta$ and the Hessian $H$ of the mean
cross-entropy $L$; $Hg$ is the gradient of $\sum_i \bar g_i g_i$, $\bar g$ held constant. Counted are all
parameters; public code leaves out biases, norms, class token and positions.
"""

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from vitruvius.proxies import OnePass, _passes


def grasp(once: OnePass) -> float:
    """Minus the weights times the Hessian-gradient product, summed over all parameters."""
    with once.preserved(), sdpa_kernel(SDPBackend.MATH):  # fused kernels cannot be differentiated twice
        loss = _passes.loss(once.model, once.x, once.y)
        gradients = _passes.gradients(loss, once.leaves, create_graph=True)
        along = torch.stack([(gradient.detach() * gradient).sum() for gradient in gradients.values()])
        curved = _passes.gradients(along.sum(), once.leaves)
    return -sum((once.parameters[name] * hg).sum().item() for name, hg in curved.items())
