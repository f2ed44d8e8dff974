r"""In how many directions the tokens spread (AZ-NAS, Lee and Ham 2024).

$\sum_l -\sum_i p_{li} \log p_{li}$ over the outputs of all residual steps (two per encoder layer), with the
eigenvalues $p_l$ of the covariance of the tokens, normalised to sum 1. Public code ranks it within a
population of networks: `az_nas` does that.
"""

from vitruvius.proxies import OnePass


def az_expressivity(once: OnePass) -> float:
    """The entropies of the principal components, summed over residual steps."""
    return sum(once.token_entropies)
