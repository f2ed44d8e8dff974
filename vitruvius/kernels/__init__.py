r"""Attention kernels: how keys are weighted. A member is a module with `weights` and `attend`.

Shapes: B batch, H heads, N queries, M keys, D query and key width, E value width, L edges.

`weights(q_BHND, k_BHMD, mask=None, **options) -> weights_BHNM` and
`attend(q_BHND, k_BHMD, v_BHME, mask=None, **options) -> out_BHNE`.

Laws, tested over the folder in float64: `attend` equals `weights @ v`; rows sum to 1; a masked weight is 0; a
fully masked row is 0 with gradient 0, never NaN; without a mask, permuting keys and values together changes
nothing and permuting queries permutes the output; gradients equal finite differences; equivalent masks give
equal outputs; half precision is computed in float32; input of a wrong shape or type is refused; the
closed-form price in `arch/cost.py` equals the counted one.
"""

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, cast

from vitruvius.core import plugins

if TYPE_CHECKING:
    from torch import Tensor


class Edges(NamedTuple):
    """A directed graph as an edge list: query `target[e]` may attend to key `source[e]`."""

    source: "Tensor"  # (L,) integers, indices of keys
    target: "Tensor"  # (L,) integers, indices of queries


Mask: TypeAlias = "None | str | Tensor | Edges"


class Kernel(Protocol):
    """The functions of a kernel's module.

    A mask is None, 'causal' (query i sees keys 0 to i), bool (True = may attend), float (-inf = may not
    attend) or Edges; tensors broadcast to (B, H, N, M). A float mask is added to the scores; a kernel whose
    similarity is not the exponential of a score multiplies it by the exponential of the mask.
    """

    def weights(self, q: "Tensor", k: "Tensor", mask: "Mask" = None, **options: Any) -> "Tensor": ...

    def attend(
        self, q: "Tensor", k: "Tensor", v: "Tensor", mask: Mask = None, **options: Any
    ) -> "Tensor": ...


def get(name: str) -> Kernel:
    """The kernel of that name."""
    return cast(Kernel, plugins.module("kernels", name))
