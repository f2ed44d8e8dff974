r"""The cost of a network in closed form, without building it: parameters, multiply-adds, memory.

With $n$ patches, $N$ tokens, width $D$, $P$ numbers that the patch map reads of a patch, $C$ classes and, in
layer $l$, $I_l$ = heads x head_dim and $M_l$ = mlp, softmax attention needs $nPD + \sum_l (4 N D I_l + 2 N^2
I_l + 2 N D M_l) + DC$ multiply-adds per image; a convolution of a stem with $a$ inputs and $b$ outputs of
side $s$ adds $9 s^2 a b$. A layer with wide heads multiplies its projections with one another (see `folds`);
with $H_l$ heads its attention needs $2 N D^2 H_l + 2 N^2 D H_l$ instead of $4 N D I_l + 2 N^2 I_l$.

Where the class token alone is read, the last layer is computed for it alone (`last_tokens`). Multiply-adds
count all tokens of all layers nevertheless, as published figures do; memory counts what is stored.
"""

import math
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from vitruvius.arch.arch import Arch, Layer
from vitruvius.core.errors import UserError

FLOAT = 4
"""Bytes of a float32."""
PAIRWISE_TOKENS = 64
"""Up to this many tokens, softmax and quadratic attention are faster if they store their weights."""
SHARING_HEADS = 8
"""Heads whose features quadratic attention computes in the same calls."""
UNKNOWN_MEMORY = 2**40
"""Bytes of memory assumed where the system does not tell."""
FOLDING_BATCH = 32
"""Images over which the cost of multiplying projections is spread when `folds` decides whether it pays."""
TRAINING_COPIES = 4
"""Weights, gradients and the two moments of AdamW."""


class Part(NamedTuple):
    """One part of a network with its cost for one image."""

    name: str
    shape: tuple[int, ...]  # of its output, for one image
    params: int
    macs: int


class Cost(NamedTuple):
    """The cost of a whole network.

    Products of weights with weights (see `folds`) are computed once per forward pass, whatever the batch.
    They are no part of `macs` and `activation_bytes`, which say what one more image costs, but have fields of
    their own: a forward pass of B images takes `B * macs + pass_macs` multiply-adds.
    """

    params: int
    macs: int  # forward, one image
    weight_bytes: int
    activation_bytes: int  # stored by autograd for one image of a training step
    pass_macs: int = 0  # forward, once per pass
    pass_bytes: int = 0  # stored by autograd once per training step

    def training_bytes(self, batch: int) -> int:
        """Return the bytes of a training step: weights, gradients, optimiser state, stored activations."""
        return TRAINING_COPIES * self.weight_bytes + batch * self.activation_bytes + self.pass_bytes


def parts(arch: Arch, fold: bool = True) -> list[Part]:
    """Return the parts of the network in the order of the forward pass; `fold` as in `cost`."""
    tokens, width = arch.tokens, arch.width
    positions = tokens * width if arch.positions == "learned" else 0
    patch_params, patch_macs = (arch.mapped_dim + 1) * width, arch.patches * arch.mapped_dim * width
    found = stem_parts(arch)
    found.append(Part("patches", (arch.patches, width), patch_params, patch_macs))
    if arch.class_token:
        found.append(Part("class token", (tokens, width), width, 0))
    found.append(Part("positions", (tokens, width), positions, 0))
    for index, layer in enumerate(arch.layers):
        found.append(_attention_part(arch, layer, f"layer {index} attention", fold))
        mlp_params = 2 * width + 2 * width * layer.mlp + layer.mlp + width + _scales(arch)
        found.append(Part(f"layer {index} mlp", (tokens, width), mlp_params, 2 * tokens * width * layer.mlp))
    normalised = (tokens, width) if arch.final_norm == "tokens" else (width,)
    found.append(Part("norm", normalised, 2 * width, 0))
    found.append(Part("head", (arch.classes,), width * arch.classes + arch.classes, width * arch.classes))
    return found


def stem_parts(arch: Arch) -> list[Part]:
    """Return the convolutions before the patches; the last ones halve the image.

    >>> [part.macs for part in stem_parts(Arch(image=8, patch=4, stem=(2, 3)))]
    [288, 216]
    >>> [part.shape for part in stem_parts(Arch(image=8, patch=2, stem=(2, 3)))]
    [(2, 8, 8), (3, 4, 4)]
    """
    found, side, before = [], arch.image, arch.channels
    for index, channels in enumerate(arch.stem):
        side //= 2 if index >= len(arch.stem) - arch.halvings else 1
        weights = 9 * before * channels
        found.append(Part(f"stem {index}", (channels, side, side), weights + channels, side**2 * weights))
        before = channels
    return found


def stem_floats(arch: Arch) -> int:
    """Return the floats that autograd stores of one image in the stem, what the patch map reads left out."""
    sizes = [math.prod(part.shape) for part in stem_parts(arch)]
    return arch.channels * arch.image**2 + sum(sizes) + sum(sizes[:-1]) if sizes else 0


def cost(arch: Arch, fold: bool = True) -> Cost:
    """Return parameters, multiply-adds and memory of a network; without `fold`, in the textbook's order.

    >>> cost(Arch(head_dim=64)).params
    892938
    """
    found = parts(arch, fold)
    params = sum(part.params for part in found)
    macs = sum(part.macs for part in found)
    pass_macs, pass_floats = 0, 0
    for index, layer in enumerate(arch.layers):
        if folds(arch.kernel, arch.tokens, arch.width, layer.head_dim):
            inner, biases = layer.heads * layer.head_dim, 2 * arch.qkv_bias
            pass_macs += inner * arch.width * (2 * arch.width + biases)
            if asking(arch, index) < arch.tokens:
                continue
            # Both products, the scaled weights of the queries, and their bias.
            pass_floats += 2 * layer.heads * arch.width**2 + inner * (arch.width + arch.qkv_bias)
    return Cost(params, macs, FLOAT * params, activation_bytes(arch), pass_macs, FLOAT * pass_floats)


def folds(kernel: str, tokens: int, width: int, head_dim: int) -> bool:
    r"""Whether attention multiplies its projections with one another before it applies them to the tokens.

    The scores of a head are $x W_q^T W_k x^T / \sqrt E$, its output is $A x W_v^T W_o^T$: two pairs of
    matrices with nothing in between, so that $W_q^T W_k$ and $W_v^T W_o^T$, each D x D, can be formed first.
    Per head and image the plain order takes $4 N D E + 2 N^2 E$ multiply-adds, the folded one
    $2 N D^2 + 2 N^2 D$, and $2 D^2 E$ more to form both products, once per pass. For B = 32 images the folded
    order is cheaper if $B N \big(E (2 D + N) - D (D + N)\big) > D^2 E$: heads that are wider than about half
    the width, and not too few tokens.

    Only softmax attention folds, and only as long as it stores its weights: the keys of all heads are the
    tokens themselves, D wide, on which the fused algorithm for long sequences would spend more than it saves.
    The decision depends on sizes alone, so that a network takes the same route wherever it runs.

    >>> folds("softmax", 17, 64, 64), folds("softmax", 17, 64, 8), folds("softmax", 197, 64, 64)
    (True, False, False)
    """
    return kernel == "softmax" and tokens <= PAIRWISE_TOKENS and folding_saves(tokens, width, head_dim)


def folding_saves(tokens: Any, width: Any, head_dim: Any) -> Any:
    """Whether the folded order takes fewer multiply-adds; of arrays, for each entry."""
    saved = head_dim * (2 * width + tokens) - width * (width + tokens)
    return FOLDING_BATCH * tokens * saved > width**2 * head_dim


def last_tokens(arch: Arch) -> int:
    """Return for how many tokens the last layer is computed: for the class token, if only it is read.

    The other tokens of that layer have no part in the scores; they serve the class token as keys and values,
    whatever the width of the heads. Only softmax attention leaves them out.

    >>> last_tokens(Arch()), last_tokens(Arch(pooling="mean"))
    (1, 17)
    """
    return 1 if arch.pooling == "cls" and arch.kernel == "softmax" else arch.tokens


def asking(arch: Arch, index: int) -> int:
    """Return how many tokens ask in a layer: all, or in the last layer those that are read."""
    return last_tokens(arch) if index == arch.depth - 1 else arch.tokens


def attention_macs(kernel: str, tokens: int, layer: Layer) -> int:
    """Return the multiply-adds of a kernel for all heads of one layer and one image, given q, k and v.

    Pairwise kernels compare every query with every key and weight every value, $2 N^2 d$ per head; `hardmax`
    selects one value; `linear`, and `quadratic` for long sequences, first multiply the features of the keys
    with the values.
    """
    heads, dim = layer.heads, layer.head_dim
    if kernel == "linear":
        return heads * tokens * dim * (2 * dim + 1)
    if kernel == "quadratic" and features_pay(heads, tokens, tokens, dim):
        return heads * tokens * (dim + 1) ** 2 * (dim + 2)
    return heads * tokens**2 * (dim if kernel == "hardmax" else 2 * dim)


def features_pay(heads: int, queries: int, keys: int, width: int, causal: bool = False) -> bool:
    """Whether quadratic attention is faster by its feature map than pair by pair.

    Per token the pairwise algorithm costs T tokens (T is the harmonic mean of queries and keys); the feature
    map costs its C features and the calls that compute them, which up to 8 heads share. The coefficients are
    fitted to forward and backward times on a CPU for D = 8 to 64 and 1 to 64 heads: for 8 heads and D = 16,
    32, 64 both are equal at T = 350, 960, 3040, with the causal mask at 930, 2540, 7900.
    """
    per_feature, per_call, per_shared_call = (2.8, 20.0, 75.0) if causal else (1.1, 9.0, 12.0)
    features = (width + 1) * (width + 2) / 2
    tokens = 2 * queries * keys / (queries + keys)
    shared = max(1, min(heads, SHARING_HEADS))
    return tokens > per_feature * features + (per_call + per_shared_call / shared) * (width + 1)


def activation_bytes(arch: Arch) -> int:
    """Return the bytes that autograd stores of one image for the backward pass (eager, float32)."""
    tokens, width = arch.tokens, arch.width
    normalised = last_tokens(arch) if arch.final_norm == "tokens" else 1
    kept = stem_floats(arch) + arch.patches * arch.mapped_dim
    kept += 2 * normalised * (width + 1) + width + arch.classes
    masks = 0  # dropout stores the scaled mask, a float per element
    for index, layer in enumerate(arch.layers):
        inner = layer.heads * layer.head_dim
        queries = asking(arch, index)
        # Input and output of both norms, means, standard deviations.
        kept += 2 * (tokens + queries) * (width + 1)
        if queries < tokens:
            # Queries and mean tokens of all heads, q and the heads' joint output.
            kept += 2 * queries * (layer.heads * width + inner)
        elif folds(arch.kernel, tokens, width, layer.head_dim):
            kept += 2 * tokens * layer.heads * width  # queries and mean tokens of all heads
        else:
            kept += 4 * tokens * inner  # q, k, v and the heads' joint output
        kept += _kept_by_kernel(arch.kernel, tokens, layer) * queries // tokens
        kept += 2 * queries * layer.mlp  # before and after the activation
        kept += 2 * queries * _scales(arch)  # what both halves add, before it is scaled
        masks += 2 * queries * width + queries * layer.mlp
    return FLOAT * (kept + (masks if arch.dropout else 0))


def refuse_if_too_big(arch: Arch, batch: int = 0) -> None:
    """Refuse a network that does not fit into memory; without a batch only its weights count."""
    found = cost(arch)
    need = found.training_bytes(batch) if batch else found.weight_bytes
    have = memory_bytes()
    if need > 0.9 * have:
        what = f"training it with batch {batch}" if batch else "its weights"
        raise UserError(
            f"a network of {found.params:,} parameters does not fit: {what} needs about "
            f"{need / 2**30:,.1f} GiB, this machine has {have / 2**30:,.1f} GiB"
        )


def memory_bytes() -> int:
    """Return the memory that this process may use: the machine's, or the limit of its container."""
    try:
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        machine = UNKNOWN_MEMORY  # refuse nothing that a large server could hold
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # no such group, or "max"
            machine = min(machine, int(Path(limit).read_text()))
    return machine


def _kept_by_kernel(kernel: str, tokens: int, layer: Layer) -> int:
    """Return the floats that attention stores besides q, k, v and its output; factors were measured."""
    pairs, rows, inner = layer.heads * tokens**2, layer.heads * tokens, layer.heads * tokens * layer.head_dim
    if kernel == "hardmax":
        return 2 * rows  # the chosen indices
    if kernel == "linear":
        return 5 * inner + rows + layer.heads * layer.head_dim * (layer.head_dim + 1)
    if kernel == "graph":
        return 17 * pairs // 4
    if tokens > PAIRWISE_TOKENS:  # fused and recomputing algorithms store nothing per pair
        return rows if kernel == "softmax" else inner + inner // 4
    return pairs if kernel == "softmax" else 3 * pairs


def _scales(arch: Arch) -> int:
    """Return the learned factors of one half of a layer."""
    return arch.width if arch.layer_scale else 0


def _attention_part(arch: Arch, layer: Layer, name: str, fold: bool) -> Part:
    width, inner = arch.width, layer.heads * layer.head_dim
    params = 2 * width + 3 * width * inner + 3 * inner * arch.qkv_bias + inner * width + width * arch.out_bias
    params += _scales(arch)
    if fold and folds(arch.kernel, arch.tokens, width, layer.head_dim):
        macs = 2 * arch.tokens * layer.heads * width * (width + arch.tokens)
    else:
        macs = 4 * arch.tokens * width * inner + attention_macs(arch.kernel, arch.tokens, layer)
    return Part(name, (arch.tokens, width), params, macs)
