r"""In how many directions the tokens spread (AZ-NAS, Lee and Ham 2024).

$\sum_l -\sum_i p_{li} \log p_{li}$ over the outputs of all residual steps (two per encoder layer), with the
eigenvalues $p_l$ of the covariance of the tokens, normalised to sum 1. Public code ranks it within a
population of networks, so that one network has no score and a resumed search other ranks.

Shapes: T tokens of all images, C channels.
"""

import torch
from torch import Tensor

from vitruvius.proxies import OnePass, _activations


def az_expressivity(once: OnePass) -> float:
    """The entropies of the principal components, summed over residual steps."""
    return sum(_entropy(_activations.token_rows(step.output.detach())) for step in once.activations.residual)


def _entropy(tokens_TC: Tensor) -> float:
    centred_TC = tokens_TC - tokens_TC.mean(0)
    # The products of rows have the same eigenvalues as those of columns, apart from zeros.
    wide = len(centred_TC) < centred_TC.shape[1]
    products = centred_TC @ centred_TC.T if wide else centred_TC.T @ centred_TC
    values = torch.linalg.eigvalsh(products).clamp_min(0)
    return torch.special.entr(values / values.sum()).sum().item()
