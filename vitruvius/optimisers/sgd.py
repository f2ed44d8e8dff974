r"""SGD with Nesterov momentum 0.9; the decay is part of the gradient (Sutskever et al. 2013).

With $g$ the gradient plus $\lambda w$: $m \leftarrow 0.9\,m + g$, then $w \leftarrow w - \eta\,(g + 0.9\,m)$.
"""

import torch

from vitruvius.optimisers import Groups


def sgd(groups: Groups, lr: float) -> torch.optim.SGD:
    """Build torch's SGD; a usual learning rate is 10 to 100 times that of AdamW, a usual decay 0.0001."""
    return torch.optim.SGD(groups, lr=lr, momentum=0.9, nesterov=True)
