r"""Lion: every step has the same size in every weight, only its sign is learned (Chen et al. 2023).

$w \leftarrow w - \eta\,(\mathrm{sign}(0.9\,m + 0.1\,g) + \lambda w)$, then $m \leftarrow 0.99\,m + 0.01\,g$.
It stores one moment where AdamW stores two. The authors advise a learning rate 3 to 10 times smaller than
AdamW's, and a decay as many times larger.
"""

from collections.abc import Callable
from typing import Any

import torch

from vitruvius.optimisers import Groups

STEP_BETA, MOMENTUM_BETA = 0.9, 0.99


class Lion(torch.optim.Optimizer):
    """The optimiser of algorithm 2 in the paper; its state is `momentum`, one tensor per parameter."""

    def __init__(self, groups: Groups, lr: float) -> None:
        super().__init__(groups, {"lr": lr, "weight_decay": 0.0})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters that have a gradient."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["momentum"] = torch.zeros_like(p)
                momentum = state["momentum"]
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.sub_(momentum.lerp(p.grad, 1 - STEP_BETA).sign_(), alpha=group["lr"])
                momentum.lerp_(p.grad, 1 - MOMENTUM_BETA)
        return loss


def lion(groups: Groups, lr: float) -> Lion:
    """Build Lion."""
    return Lion(groups, lr)
