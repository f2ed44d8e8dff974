r"""Condition of the neural tangent kernel (TE-NAS, Chen et al. 2021), with a minus sign.

$-\lambda_{\max}/\lambda_{\min}$ of $G G^T$, where row $b$ of $G$ is the gradient of the sum of the class
scores of image $b$ in all parameters, for the first 16 images. Public code leaves the network in training
mode, so that drop-path makes every row the gradient of another network.
"""

import torch

from vitruvius.proxies import OnePass


def ntk(once: OnePass) -> float:
    """Minus infinity when the gradients of the images are linearly dependent."""
    values = torch.linalg.eigvalsh(once.tangent_kernel)
    return (-values[-1] / values[0].clamp_min(0)).item()
