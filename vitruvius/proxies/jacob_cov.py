r"""How differently the network answers to different images (Mellor et al. 2020).

$-\sum_i [\log(v_i + k) + 1/(v_i + k)]$ with the eigenvalues $v$ of the correlations between $J_b = \partial
\sum_c f_c(x_b) / \partial x_b$ of the first 16 images and $k = 10^{-5}$. Public code calls an eigenvalue
routine for general matrices, which may turn complex; correlations are symmetric.
"""

import torch

from vitruvius.proxies import OnePass

K = 1e-5


def jacob_cov(once: OnePass) -> float:
    """Highest when the gradients in the pixels of all images are uncorrelated."""
    correlation = torch.corrcoef(once.input_jacobian.cpu().double())
    shifted = torch.linalg.eigvalsh(correlation.reshape(len(once.input_jacobian), -1)) + K
    return -(shifted.log() + 1 / shifted).sum().item()
