r"""How differently images switch the activation functions (NASWOT, Mellor et al. 2021).

$\log\det K$ with $K = \sum_l c_l c_l^T + (1 - c_l)(1 - c_l)^T$, where row $b$ of $c_l$ says at which units of
layer $l$ the input of the activation function is positive for image $b$. Public code looks for ReLU modules
and collects nothing on a ViT.

Shapes: B batch, U units (tokens times channels).
"""

import math

import torch

from vitruvius.proxies import OnePass, _activations


def naswot(once: OnePass) -> float:
    """The log-determinant of the images' agreement; minus infinity when two images switch all units alike."""
    images = len(once.x)
    agreement_BB = torch.zeros(images, images, dtype=torch.float64)
    for before in once.activations.nonlinear:
        if before.isnan().any():
            return math.nan  # NaN has no sign
        is_on_BU = _activations.by_image(before, images).flatten(1) > 0
        # (1 + s s')/2 is 1 where two signs are equal, else 0; the counts are integers, exact in float32.
        pattern_BU = is_on_BU.float() * 2 - 1
        agreement_BB += ((pattern_BU @ pattern_BU.T + pattern_BU.shape[1]) / 2).to(agreement_BB)
    return torch.linalg.slogdet(agreement_BB).logabsdet.item()
