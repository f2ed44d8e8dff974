"""Optimisers: they turn gradients into steps. A member is one function, named like its file.

`def foo(groups, lr) -> torch.optim.Optimizer`. Each of the `groups` holds `params`, its own `weight_decay`
and perhaps a `lr_factor`; the training loop sets `lr` anew before every step, multiplied by that factor. All
state is tensors, for checkpoints. An optimiser that has a `divisor` divides float32 gradients by it while its
next step reads them, which takes less time than to scale them before.

Laws, tested over the folder: the loss falls on a toy set, one step equals its closed form, the state saves
and loads to the bit, and only the weight matrices of linear maps decay.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from vitruvius.core import plugins
from vitruvius.core.errors import UserError, VitruviusError

if TYPE_CHECKING:
    from torch import Tensor, nn, optim

Groups: TypeAlias = list[dict[str, Any]]
Member: TypeAlias = "Callable[[Groups, float], optim.Optimizer]"


@runtime_checkable
class Divides(Protocol):
    """An optimiser that divides the gradients itself."""

    divisor: "Tensor | None"


def get(name: str) -> Member:
    """Return the member of that name, or the user's own, `./mine.py:NAME`."""
    return plugins.function("optimisers", name)


def build(
    name: str, model: "nn.Module", lr: float, weight_decay: float, layer_decay: float = 1.0
) -> "optim.Optimizer":
    """Build an optimiser for a model; only the weight matrices of its linear maps decay.

    With a `layer_decay` below 1 each layer learns by this factor more slowly than the one above it.
    """
    from torch.optim import Optimizer

    make = get(name)
    try:
        optimiser = make(parameter_groups(model, weight_decay, layer_decay), lr)
    except VitruviusError:
        raise
    except Exception as error:
        raise UserError(f"optimiser '{name}': {type(error).__name__}: {error}") from error
    if not isinstance(optimiser, Optimizer):
        kind = type(optimiser).__name__
        raise UserError(f"optimiser '{name}': it returns {kind}, not a torch.optim.Optimizer")
    return optimiser


def parameter_groups(model: "nn.Module", weight_decay: float, layer_decay: float = 1.0) -> Groups:
    """Return the weight matrices of nn.Linear with the decay, and all other parameters without.

    With a `layer_decay` there are two such groups for every level of the network.
    """
    from torch import nn

    decayed = {id(module.weight) for module in model.modules() if isinstance(module, nn.Linear)}
    named = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    level = _levels(list(dict(model.named_parameters())))
    top = max(level.values(), default=0)
    groups: Groups = []
    for height in range(top + 1) if layer_decay != 1 else (None,):
        mine = [p for name, p in named.items() if height is None or level[name] == height]
        factor = {} if height is None else {"lr_factor": layer_decay ** (top - height)}
        groups += [
            {"params": [p for p in mine if id(p) in decayed], "weight_decay": weight_decay, **factor},
            {"params": [p for p in mine if id(p) not in decayed], "weight_decay": 0.0, **factor},
        ]
    return [group for group in groups if group["params"]]


def _levels(names: list[str]) -> dict[str, int]:
    """Return how high each parameter stands: 0 the embedding, then the layers, at last norm and head.

    >>> _levels(["patch_map.weight", "layers.0.norm1.bias", "layers.1.norm1.bias", "head.bias"]).values()
    dict_values([0, 1, 2, 3])
    """
    layers = {name: re.search(r"(?:^|\.)layers\.(\d+)\.", name) for name in names}
    top = 1 + max((1 + int(found[1]) for found in layers.values() if found), default=0)
    last = re.compile(r"(?:module\.)?(?:norm|head)\.")
    return {
        name: 1 + int(found[1]) if found else top if last.match(name) else 0 for name, found in layers.items()
    }
