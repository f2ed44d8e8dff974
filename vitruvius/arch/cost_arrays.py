"""The closed forms of `arch/cost` for many networks at once, as arrays; equal to `cost.cost` to the unit.

Shapes: n networks, L layers of the deepest. Layers that a network does not have are masked out.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from vitruvius.arch.arch import Arch
from vitruvius.arch.cost import (
    FLOAT,
    PAIRWISE_TOKENS,
    TRAINING_COPIES,
    folding_saves,
    stem_floats,
    stem_parts,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Networks:
    """Sizes of many networks that share what `like` says: image, channels, classes, biases, positions, ..."""

    like: Arch
    patch_n: "Ints"
    width_n: "Ints"
    depth_n: "Ints"
    heads_nL: "Ints"
    head_dim_nL: "Ints"
    mlp_nL: "Ints"

    def __len__(self) -> int:
        return len(self.patch_n)

    def fields(self, index: int) -> dict[str, Any]:
        """Return the fields of an `Arch` in which a network differs from `like`."""
        depth = int(self.depth_n[index])
        layers = {"heads": self.heads_nL, "head_dim": self.head_dim_nL, "mlp": self.mlp_nL}
        sizes = {"patch": int(self.patch_n[index]), "width": int(self.width_n[index]), "depth": depth}
        return sizes | {field: values[index, :depth].tolist() for field, values in layers.items()}

    @cached_property
    def is_layer_nL(self) -> "NDArray[np.bool_]":
        """Whether each network has so many layers."""
        import numpy as np

        return np.arange(self.heads_nL.shape[1]) < self.depth_n[:, None]

    def summed(self, values_nL: Any) -> "Ints":
        """Add up over the layers that each network has, (n,)."""
        found: Ints = (values_nL * self.is_layer_nL).sum(1)
        return found

    @property
    def tokens_n(self) -> "Ints":
        """Return the number of tokens in the encoder."""
        return (self.like.image // self.patch_n) ** 2 + int(self.like.class_token)


@dataclass(frozen=True)
class Costs:
    """What each network costs, (n,) each."""

    params_n: "Ints"
    macs_n: "Ints"
    activation_bytes_n: "Ints"
    pass_macs_n: "Ints"
    pass_bytes_n: "Ints"
    attention_macs_n: "Ints"
    """The part of `macs_n` that compares queries with keys and weighs values."""

    def training_bytes_n(self, batch: int) -> "Ints":
        """Return the bytes of a training step, as `Cost.training_bytes` does."""
        per_step = TRAINING_COPIES * FLOAT * self.params_n + self.pass_bytes_n
        return per_step + batch * self.activation_bytes_n


def costs(networks: Networks) -> Costs:
    """Return parameters, multiply-adds and memory of networks with softmax attention."""
    import numpy as np

    like, width = networks.like, networks.width_n[:, None]
    assert like.kernel == "softmax", "other kernels have other closed forms"
    tokens_n, patches_n = networks.tokens_n, networks.tokens_n - int(like.class_token)
    tokens = tokens_n[:, None]
    heads, dim, mlp = networks.heads_nL, networks.head_dim_nL, networks.mlp_nL
    summed = networks.summed
    # How often a stem halves the image depends on the patch, of which there are few sizes.
    patches, which_n = np.unique(networks.patch_n, return_inverse=True)
    alike = [like.model_copy(update={"patch": int(patch)}) for patch in patches]
    patch_dim_n = np.array([arch.mapped_dim for arch in alike])[which_n]
    stem_params_n, stem_macs_n = (
        np.array([sum(getattr(part, name) for part in stem_parts(arch)) for arch in alike])[which_n]
        for name in ("params", "macs")
    )
    inner = heads * dim
    folds: Any = (tokens <= PAIRWISE_TOKENS) & folding_saves(tokens, width, dim)
    scales = width * int(like.layer_scale > 0)

    params = 4 * width + 4 * width * inner + 3 * inner * like.qkv_bias + width * like.out_bias
    params = params + 2 * width * mlp + mlp + width + 2 * scales
    # Keys and values of a folded head are whole tokens.
    attention = 2 * heads * tokens**2 * np.where(folds, width, dim)
    projections = np.where(folds, 2 * tokens * heads * width**2, 4 * tokens * width * inner)
    macs = attention + projections + 2 * tokens * width * mlp
    is_last = np.arange(heads.shape[1]) == networks.depth_n[:, None] - 1
    asking: Any = np.where(is_last & (like.pooling == "cls"), 1, tokens)
    kept = 2 * (tokens + asking) * (width + 1)
    all_ask = np.where(folds, 2 * tokens * heads * width, 4 * tokens * inner)
    kept = kept + np.where(asking < tokens, 2 * asking * (heads * width + inner), all_ask)
    kept = kept + heads * np.where(tokens > PAIRWISE_TOKENS, asking, asking * tokens) + 2 * asking * mlp
    kept = kept + 2 * asking * scales
    if like.dropout:
        kept = kept + 2 * asking * width + asking * mlp
    pass_macs = np.where(folds, inner * width * (2 * width + 2 * like.qkv_bias), 0)
    once = np.where(folds & (asking == tokens), 2 * heads * width**2 + inner * (width + like.qkv_bias), 0)

    width_n, classes = networks.width_n, like.classes
    learned_n = tokens_n * width_n if like.positions == "learned" else 0
    outside_n = (patch_dim_n + 1) * width_n + int(like.class_token) * width_n + learned_n
    is_wide = like.final_norm == "tokens" and like.pooling != "cls"
    normalised_n = tokens_n if is_wide else np.ones_like(tokens_n)
    kept_n = np.array([stem_floats(arch) for arch in alike])[which_n] + patches_n * patch_dim_n
    kept_n = kept_n + 2 * normalised_n * (width_n + 1) + width_n + classes
    return Costs(
        params_n=stem_params_n + outside_n + summed(params) + 2 * width_n + (width_n + 1) * classes,
        macs_n=stem_macs_n + patches_n * patch_dim_n * width_n + summed(macs) + width_n * classes,
        activation_bytes_n=FLOAT * (kept_n + summed(kept)),
        pass_macs_n=summed(pass_macs),
        pass_bytes_n=FLOAT * summed(once),
        attention_macs_n=summed(attention),
    )
