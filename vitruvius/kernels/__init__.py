r"""Kernels: ways to weigh values. A member is a module with `weights` and `attend`.

Shapes: B batch, H heads, N queries, M keys, D query and key width, E value width.

`weights(q_BHND, k_BHMD, mask=None, **options) -> weights_BHNM` and
`attend(q_BHND, k_BHMD, v_BHME, mask=None, **options) -> out_BHNE`.

Laws, tested over the folder in float64: `attend` equals `weights @ v`; rows sum to 1; a masked weight is 0; a
fully masked row is 0, never NaN; without a mask, permuting keys and values together changes nothing and permuting
queries permutes the output; gradients equal finite differences.
"""

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, cast

from vitruvius.core import plugins

if TYPE_CHECKING:
    from torch import Tensor


class Edges(NamedTuple):
    """A directed graph as an edge list: along edge e the key `source[e]` is seen by the query `target[e]`."""

    source: "Tensor"  # (E,) integers, indices of keys
    target: "Tensor"  # (E,) integers, indices of queries


Mask: TypeAlias = "None | str | Tensor | Edges"


class Kernel(Protocol):
    """What a kernel's module offers.

    A mask is None, 'causal', bool (True = may attend), float (added to the scores, -inf = may not attend) or Edges;
    tensors broadcast to (B, H, N, M).
    """

    def weights(self, q: "Tensor", k: "Tensor", mask: "Mask" = None, **options: Any) -> "Tensor": ...

    def attend(self, q: "Tensor", k: "Tensor", v: "Tensor", mask: "Mask" = None, **options: Any) -> "Tensor": ...


def get(name: str) -> Kernel:
    """The kernel of that name."""
    return cast(Kernel, plugins.module("kernels", name))
