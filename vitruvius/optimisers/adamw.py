"""AdamW as every training here uses it (Loshchilov and Hutter 2019): decay for matrices only, fused where possible."""

import torch
from torch import nn


def adamw(model: nn.Module, lr: float, weight_decay: float) -> torch.optim.AdamW:
    """The optimiser of a model; biases, norms, class token and positions are not pulled towards zero."""
    decayed = {id(module.weight) for module in model.modules() if isinstance(module, nn.Linear)}
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [p for p in parameters if id(p) in decayed], "weight_decay": weight_decay},
        {"params": [p for p in parameters if id(p) not in decayed], "weight_decay": 0.0},
    ]
    fused = all(parameter.device.type in ("cpu", "cuda") for parameter in parameters)
    return torch.optim.AdamW([group for group in groups if group["params"]], lr=lr, fused=fused)
