"""Find the layers of a network by the type of their modules, never by their names."""

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.conv import _ConvNd

from vitruvius.core.errors import UserError
from vitruvius.nn.attention import MultiHeadAttention

MATRIX = (nn.Linear, _ConvNd)
WITH_MATRICES = (*MATRIX, nn.MultiheadAttention)
NORM = (nn.LayerNorm, nn.GroupNorm, nn.RMSNorm, _NormBase)
PACKED = ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight")
"""Matrices that `nn.MultiheadAttention` holds itself; its output map is an `nn.Linear`."""


def matrices(model: nn.Module) -> dict[str, Tensor]:
    """Return the weights of linear maps, convolutions and attention projections by name; shared ones once."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    weights = [weight for module in model.modules() for weight in _own_matrices(module)]
    found = {names[id(weight)]: weight for weight in weights if id(weight) in names}
    if not found:
        raise UserError("the network has no linear maps or convolutions")
    return found


def attention(model: nn.Module) -> list[MultiHeadAttention | nn.MultiheadAttention]:
    """Return the attention modules, ours and PyTorch's."""
    return [part for part in model.modules() if isinstance(part, MultiHeadAttention | nn.MultiheadAttention)]


def attention_widths(model: nn.Module) -> list[int]:
    """Return the token width at each attention module, ours and PyTorch's."""
    found = attention(model)
    return [at.embed_dim if isinstance(at, nn.MultiheadAttention) else at.qkv.in_features for at in found]


def _own_matrices(module: nn.Module) -> list[Tensor]:
    if isinstance(module, MATRIX):
        return [module.weight]
    if isinstance(module, nn.MultiheadAttention):
        return [weight for key in PACKED if (weight := getattr(module, key)) is not None]
    return []
