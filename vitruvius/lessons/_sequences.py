r"""One encoder layer and one decoder layer of the original Transformer (Vaswani et al. 2017) in numbers.

Post-norm, $\mathrm{LN}(x + f(x))$, relu, no biases. Rows are tokens and matrices act from the right: N source
tokens, M target tokens, D width, H heads."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from vitruvius.lessons._tensors import Array, softmax

EPS = 1e-5


class Encoded(NamedTuple):
    """What the encoder layer computes on its way."""

    encoder_weights: Array
    seen_ND: Array  # behind attention, sum and norm
    memory: Array


class Decoded(NamedTuple):
    """What the decoder layer computes on its way."""

    masked_weights: Array
    heard_MD: Array  # behind masked attention, sum and norm
    cross_weights: Array
    asked_MD: Array  # behind cross-attention, sum and norm
    output: Array


def norm(x_ND: Array) -> Array:
    """Every row brought to mean 0 and variance 1."""
    centred_ND = x_ND - x_ND.mean(-1, keepdims=True)
    return np.asarray(centred_ND / np.sqrt((centred_ND**2).mean(-1, keepdims=True) + EPS))


def split(x_ND: Array, heads: int) -> Array:
    """The columns in `heads` parts, (H, N, D / H)."""
    return np.stack(np.split(x_ND, heads, axis=1))


def scores(maps: Mapping[str, Array], heads: int, asking_ND: Array, asked_MD: Array) -> Array:
    """Queries of one sequence times keys of another, over the root of the head width, (H, N, M)."""
    q_HNE, k_HME = split(asking_ND @ maps["w_q"], heads), split(asked_MD @ maps["w_k"], heads)
    return np.asarray(q_HNE @ k_HME.swapaxes(1, 2) / q_HNE.shape[2] ** 0.5)


def causal(scores_HMM: Array, hidden: float = -np.inf) -> Array:
    """Scores of later tokens replaced by `hidden`."""
    later_MM = np.triu(np.ones(scores_HMM.shape[1:], bool), 1)
    return np.where(later_MM, hidden, scores_HMM)


def mixed(maps: Mapping[str, Array], weights_HNM: Array, asked_MD: Array) -> Array:
    """The values of every head, weighted, side by side, through the output map, (N, D)."""
    v_HME = split(asked_MD @ maps["w_v"], len(weights_HNM))
    return np.concatenate(list(weights_HNM @ v_HME), axis=1) @ maps["w_o"]


def fed(maps: Mapping[str, Array], x_ND: Array) -> Array:
    """The feed-forward part, each row alone."""
    return np.maximum(x_ND @ maps["w_1"], 0.0) @ maps["w_2"]


def behind(maps: Mapping[str, Array], x_ND: Array) -> Array:
    """The feed-forward part with its sum and norm."""
    return norm(x_ND + fed(maps, x_ND))


def encode(maps: Mapping[str, Array], heads: int, source_ND: Array) -> Encoded:
    """Self-attention and the feed-forward part, each with its sum and norm."""
    weights_HNN = softmax(scores(maps, heads, source_ND, source_ND))
    seen_ND = norm(source_ND + mixed(maps, weights_HNN, source_ND))
    return Encoded(weights_HNN, seen_ND, behind(maps, seen_ND))


def decode(maps: Mapping[str, Array], heads: int, target_MD: Array, memory_ND: Array) -> Decoded:
    """Masked self-attention, cross-attention to the memory, the feed-forward part."""
    masked_HMM = softmax(causal(scores(maps, heads, target_MD, target_MD)))
    heard_MD = norm(target_MD + mixed(maps, masked_HMM, target_MD))
    cross_HMN = softmax(scores(maps, heads, heard_MD, memory_ND))
    asked_MD = norm(heard_MD + mixed(maps, cross_HMN, memory_ND))
    return Decoded(masked_HMM, heard_MD, cross_HMN, asked_MD, behind(maps, asked_MD))


def by_torch(
    maps: Mapping[str, Array], heads: int, source_ND: Array, target_MD: Array, words_VD: Array
) -> dict[str, Tensor]:
    """The same by torch's own encoder and decoder layer, and the probabilities of the words."""
    options: dict[str, Any] = {"dropout": 0.0, "batch_first": True, "dtype": torch.float64}
    sizes = (source_ND.shape[1], heads, maps["w_1"].shape[1])
    with torch.random.fork_rng(devices=[]):
        encoder = nn.TransformerEncoderLayer(*sizes, **options)
        decoder = nn.TransformerDecoderLayer(*sizes, **options)
    for layer in (encoder, decoder):
        _load(layer, {name: torch.from_numpy(value).T for name, value in maps.items()})
    source, query = (torch.from_numpy(rows)[None] for rows in (source_ND, target_MD))
    mask = nn.Transformer.generate_square_subsequent_mask(len(target_MD), dtype=torch.float64)
    with torch.no_grad():
        memory = encoder(source)
        output = decoder(query, memory, tgt_mask=mask)[0]
        own = encoder.self_attn(source, source, source, average_attn_weights=False)[1][0]
        mixed, masked = decoder.self_attn(query, query, query, attn_mask=mask, average_attn_weights=False)
        heard = decoder.norm1(query + mixed)
        cross = decoder.multihead_attn(heard, memory, memory, average_attn_weights=False)[1][0]
    found = {"encoder_weights": own, "memory": memory[0], "masked_weights": masked[0], "cross_weights": cross}
    return found | {"output": output, "probabilities": (output @ torch.from_numpy(words_VD).T).softmax(-1)}


def _load(layer: nn.Module, maps: Mapping[str, Tensor]) -> None:
    """Put maps into a layer of torch, all biases 0."""
    ends = {"in_proj_weight": torch.cat([maps[name] for name in ("w_q", "w_k", "w_v")])}
    ends |= {"out_proj.weight": maps["w_o"], "linear1.weight": maps["w_1"], "linear2.weight": maps["w_2"]}
    with torch.no_grad():
        for name, parameter in layer.named_parameters():
            found = next((value for end, value in ends.items() if name.endswith(end)), None)
            if found is not None:
                parameter.copy_(found)
            elif name.endswith("bias"):
                parameter.zero_()
