r"""How sure a layer's heads are of their weights (Serianni and Kalita 2023), as the authors' code has it.

$\sum_l \mathrm{mean}_{b,i,j} \max_h A_{lbhij}$ with the attention weights $A$ of layer $l$, image $b$, head
$h$, query $i$ and key $j$: the maximum is over the heads. `key_confidence` takes it over the keys. It grows
with every layer and falls with the number of keys: read it beside depth.
"""

from vitruvius.proxies import OnePass


def head_confidence(once: OnePass) -> float:
    """The mean over images, queries and keys of the largest weight among the heads, summed over layers."""
    return sum(weights_BHNM.amax(1).mean().item() for weights_BHNM in once.attention_weights)
