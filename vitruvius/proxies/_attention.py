"""Attention weights of our modules and of PyTorch's, by hooks that are removed again.

Shapes: B batch, H heads, N queries, M keys.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from inspect import signature
from typing import Any

from torch import Tensor, nn

from vitruvius.nn import attention_maps as maps


@contextmanager
def recorded(model: nn.Module) -> Iterator[list[Tensor]]:
    """Inside, every forward pass appends the attention weights of each layer, (B, H, N, M)."""
    with ExitStack() as hooks, maps.recorded(model) as weights:
        for module in model.modules():
            if isinstance(module, nn.MultiheadAttention):
                handles = (
                    module.register_forward_pre_hook(_ask_for_weights, with_kwargs=True),
                    module.register_forward_hook(lambda module, inputs, output: weights.append(output[1])),
                )
                for handle in handles:
                    hooks.callback(handle.remove)
        yield weights


def _ask_for_weights(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """The same call, with the weights of each head as its second result."""
    call = signature(module.forward).bind(*args, **kwargs)
    call.arguments.update(need_weights=True, average_attn_weights=False)
    return call.args, call.kwargs
