"""Optimisers: they turn gradients into steps. A member is one function, named like its file.

`def foo(groups, lr) -> torch.optim.Optimizer`. Each of the `groups` holds `params` and its own
`weight_decay`; the training loop sets `lr` anew before every step. All state is tensors, for checkpoints.

Laws, tested over the folder: the loss falls on a toy set, one step equals its closed form, the state saves
and loads to the bit, and only the weight matrices of linear maps decay.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from vitruvius.core import plugins
from vitruvius.core.errors import UserError, VitruviusError

if TYPE_CHECKING:
    from torch import nn, optim

Groups: TypeAlias = list[dict[str, Any]]
Member: TypeAlias = "Callable[[Groups, float], optim.Optimizer]"


def get(name: str) -> Member:
    """Return the member of that name, or the user's own, `./mine.py:NAME`."""
    return plugins.function("optimisers", name)


def build(name: str, model: "nn.Module", lr: float, weight_decay: float) -> "optim.Optimizer":
    """Build an optimiser for a model; only the weight matrices of its linear maps decay."""
    from torch.optim import Optimizer

    make = get(name)
    try:
        optimiser = make(parameter_groups(model, weight_decay), lr)
    except VitruviusError:
        raise
    except Exception as error:
        raise UserError(f"optimiser '{name}': {type(error).__name__}: {error}") from error
    if not isinstance(optimiser, Optimizer):
        kind = type(optimiser).__name__
        raise UserError(f"optimiser '{name}': it returns {kind}, not a torch.optim.Optimizer")
    return optimiser


def parameter_groups(model: "nn.Module", weight_decay: float) -> Groups:
    """Return the weight matrices of nn.Linear with the decay, and all other parameters without."""
    from torch import nn

    decayed = {id(module.weight) for module in model.modules() if isinstance(module, nn.Linear)}
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [p for p in parameters if id(p) in decayed], "weight_decay": weight_decay},
        {"params": [p for p in parameters if id(p) not in decayed], "weight_decay": 0.0},
    ]
    return [group for group in groups if group["params"]]
