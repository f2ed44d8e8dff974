"""Where non-finite numbers begin: in the weights, in the input, in a module, or after the network."""

import copy
from typing import Any

import torch
from torch import nn

from vitruvius.doctor import autograd_graph as graphs
from vitruvius.doctor import user_code as tracing


def first_break(model: nn.Module | None, args: Any) -> str:
    """The first place that holds a NaN or an infinity, found by running a copy once more."""
    if model is None:
        return "the loss"
    if any(graphs.non_finite(parameter) for parameter in model.parameters()):
        return "the weights"
    if graphs.non_finite(tracing.first_tensor(args)):
        return "the input"
    found: list[str] = []

    def look(name: str) -> Any:
        def hook(module: nn.Module, args: Any, output: Any) -> None:
            if not found and graphs.non_finite(tracing.first_tensor(output)):
                found.append(f"module {name or type(module).__name__}")

        return hook

    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            twin = copy.deepcopy(model)
            for name, module in twin.named_modules():
                module.register_forward_hook(look(name))
            twin(*args)
    except Exception:  # a network that cannot be copied or run again is not examined further
        return "the network"
    return found[0] if found else "the loss"
