"""Proxies: scores of an untrained network from one minibatch. A member is one function, named like its file.

`def foo(once: OnePass) -> float`, the higher the better by its paper's convention. `OnePass` holds the
network, the minibatch and a seed, and computes what proxies share when it is first used: `loss`, `gradients`,
`activations`, `activation_gradients`, `halves`, `input_jacobian`, `tangent_kernel`, `attention_weights`,
`layer_widths`, `token_entropies`, `flow` and `fresh_copy()`. A proxy that needs another pass calls
`once.class_scores(x)` inside `with once.preserved()`. It raises a `UserError` that says what the network
lacks where it cannot be scored.

Laws, tested over the folder: the score is finite, the same for the same (network, minibatch, seed), leaves
weights, buffers, gradients, flags, mode, hooks and all global random states unchanged, and sees no accuracy.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from vitruvius.core import plugins

if TYPE_CHECKING:
    from torch import Tensor, nn

    from vitruvius.proxies._one_pass import OnePass
else:

    def __getattr__(name: str) -> Any:
        """Import `OnePass`, and with it torch, when an annotation first names it."""
        if name != "OnePass":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from vitruvius.proxies._one_pass import OnePass

        return OnePass


__all__ = ["STRUCTURAL", "OnePass", "Proxy", "get", "one_pass"]

STRUCTURAL = ("params", "macs", "depth", "width_sum")
"""Proxies that only count; they are shown beside all others."""

Proxy: TypeAlias = "Callable[[OnePass], float]"


def get(name: str) -> Proxy:
    """Return the proxy of that name, or the user's own from `./mine.py:name`."""
    return plugins.function("proxies", name)


def one_pass(model: "nn.Module", x: "Tensor", y: "Tensor", seed: int = 0) -> "OnePass":
    """Return what all proxies of one network and one minibatch share."""
    from vitruvius.proxies._one_pass import OnePass

    return OnePass(model, x, y, seed)
