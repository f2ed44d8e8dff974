r"""How sure attention heads are of one key: a head's confidence (Voita et al. 2019), summed over layers.

$\sum_l \mathrm{mean}_{b,h,i} \max_j A_{lbhij}$ with the attention weights $A$ of layer $l$, image $b$, head
$h$, query $i$ and key $j$. This is not the score that public code calls head confidence (Serianni and Kalita
2023): that takes the maximum over the heads, not over the keys. Both grow with every layer: read it beside
depth.
"""

from vitruvius.proxies import OnePass


def key_confidence(once: OnePass) -> float:
    """The mean largest attention weight, summed over layers."""
    return sum(weights_BHNM.amax(-1).mean().item() for weights_BHNM in once.attention_weights)
