r"""How sure attention heads are of one key (Serianni and Kalita 2023).

$\sum_l \mathrm{mean}_{b,h,i} \max_j A_{lbhij}$ with the attention weights $A$ of layer $l$, image $b$, head
$h$, query $i$ and key $j$. It grows with every layer: read it beside depth, which public tables leave out.
"""

from vitruvius.proxies import OnePass


def head_confidence(once: OnePass) -> float:
    """The mean largest attention weight, summed over layers."""
    return sum(weights_BHNM.amax(-1).mean().item() for weights_BHNM in once.attention_weights)
