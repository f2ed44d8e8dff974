r"""AdamW: steps scaled by running moments of the gradient, with decoupled decay (Loshchilov and Hutter 2019).

$w \leftarrow w - \eta\,(\hat m / (\sqrt{\hat v} + \epsilon) + \lambda w)$ with $m \leftarrow 0.9\,m +
0.1\,g$, $v \leftarrow 0.999\,v + 0.001\,g^2$, both divided by one minus the power of their factor.
"""

import torch

from vitruvius.optimisers import Groups


def adamw(groups: Groups, lr: float) -> torch.optim.AdamW:
    """Build torch's AdamW, fused where the device supports it."""
    fused = all(p.device.type in ("cpu", "cuda") for group in groups for p in group["params"])
    return torch.optim.AdamW(groups, lr=lr, fused=fused)
