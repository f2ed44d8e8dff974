r"""Softmax attention (Vaswani et al. 2017): weights grow exponentially with the product of query and key.

$w_{ij} = \exp(\beta\, q_i \cdot k_j + m_{ij}) / \sum_l \exp(\beta\, q_i \cdot k_l + m_{il})$ with the inverse
temperature $\beta = 1/\sqrt{D}$ by default. $\beta = 0$ gives the mean of the values, $\beta \to \infty$ the
value of the best key, split evenly among ties (in proportion to $e^{m}$ under a float mask).

Shapes: B batch, H heads, N queries, M keys, D query and key width, E value width.
"""

import math
from typing import TypeAlias

import torch
from torch import Tensor
from torch.nn import functional

from vitruvius.core.errors import UserError
from vitruvius.kernels import Mask, _inputs

Beta: TypeAlias = float | str | None
# Explicit over fused time, with backward, CPU, D = 64: 0.84 at 17 keys, 0.86 at 50, 1.05 at 65, 1.6 at 197.
EXPLICIT_KEYS = 64
# Without gradients softmax over columns takes 0.46 of the time of softmax over rows at 17 keys, in vector
# registers that short rows do not fill; the whole attention 0.72 of its time, 0.95 at 50 keys, 1.1 at 64
# (one thread of an AMD EPYC, beside other work, 17 November 2026). Compiled, with gradients, a step of the
# reference ViT, whose heads share their keys, takes 0.95 of its time with one thread and 0.97 with two; heads
# of 16 dimensions with keys of their own gain nothing, nor does eager code (18 November 2026).
COLUMN_KEYS = 32
# Up to this width of the values the transposed product is faster: evaluating `mnist-slim` with heads of 4, 8
# and 16 dimensions takes 0.93, 0.96 and 1.03 of its time (two threads of an AMD EPYC, 19 November 2026).
NARROW_VALUES = 8
# Above this inverse temperature the maximum of a row is subtracted before scaling, so that no beta overflows.
SHARP_BETA = 1e4


@_inputs.in_full_precision
def weights(q: Tensor, k: Tensor, mask: Mask = None, *, beta: Beta = None) -> Tensor:
    """The weight of every key for every query (B, H, N, M).

    >>> weights(torch.zeros(1, 1, 2, 4), torch.zeros(1, 1, 2, 4), "causal")[0, 0].tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    _inputs.check(q, k)
    return _weights(q, k, mask, _inverse_temperature(beta, q.shape[-1]))


def attend(
    q: Tensor, k: Tensor, v: Tensor, mask: Mask = None, *, beta: Beta = None, dropout: float = 0.0
) -> Tensor:
    """The weighted mean of the values (B, H, N, E); `dropout` sets that fraction of the weights to 0."""
    _inputs.check(q, k, v)
    scale = _inverse_temperature(beta, q.shape[-1])
    # With dropout the fused kernel falls back to its slow form, so the explicit one is taken for any length.
    if dropout > 0 or scale > SHARP_BETA or (k.shape[2] <= EXPLICIT_KEYS and q.device.type == "cpu"):
        return _explicit(q, k, v, mask, scale, dropout)
    causal = _inputs.is_causal(mask)
    keep = None if causal else _inputs.dense(mask, q, k)
    return functional.scaled_dot_product_attention(q, k, v, keep, is_causal=causal, scale=scale)


@_inputs.in_full_precision
def _explicit(q: Tensor, k: Tensor, v: Tensor, mask: Mask, beta: float, dropout: float) -> Tensor:
    if mask is None and dropout == 0 and beta <= SHARP_BETA and _suits_columns(q, k):
        weight_BHMN = (k @ (q if beta == 1 else q * beta).mT).softmax(-2)
        return (v.mT @ weight_BHMN).mT if v.shape[3] <= NARROW_VALUES else weight_BHMN.mT @ v
    weight_BHNM = _weights(q, k, mask, beta)
    if dropout > 0:
        weight_BHNM = functional.dropout(weight_BHNM, dropout)
    return weight_BHNM @ v


def _suits_columns(q: Tensor, k: Tensor) -> bool:
    """Whether scores are computed faster with a column per query than with a row."""
    queries, keys = q.shape[2], k.shape[2]
    if torch.compiler.is_dynamo_compiling():
        return keys < queries and keys <= COLUMN_KEYS
    return queries > 1 and keys <= COLUMN_KEYS and not torch.is_grad_enabled()


def _weights(q: Tensor, k: Tensor, mask: Mask, beta: float) -> Tensor:
    keep = _inputs.dense(mask, q, k)
    hidden = None if keep is None else _inputs.hidden(keep)
    if beta > SHARP_BETA:
        score_BHNM = _sharpened(q @ k.mT, hidden, beta)
    else:
        score_BHNM = (q if beta == 1 else q * beta) @ k.mT  # 1 where the scale is part of the weights
    if keep is None or hidden is None:
        return score_BHNM.softmax(-1)
    if keep.dtype != torch.bool:
        score_BHNM = score_BHNM + keep
    # A finite fill: a whole row of -inf would make weights and gradients NaN before the second fill.
    lowest = torch.finfo(score_BHNM.dtype).min
    return score_BHNM.masked_fill(hidden, lowest).softmax(-1).masked_fill(hidden, 0.0)


def _sharpened(score_BHNM: Tensor, hidden: Tensor | None, beta: float) -> Tensor:
    """Scores times beta, shifted per row so that the best visible key has exactly 0."""
    visible = score_BHNM.detach()
    if hidden is not None:
        visible = visible.masked_fill(hidden, torch.finfo(visible.dtype).min)
    gap_BHNM = score_BHNM - visible.amax(-1, keepdim=True)
    if beta > torch.finfo(gap_BHNM.dtype).max:
        return torch.zeros_like(gap_BHNM).masked_fill(gap_BHNM < 0, -torch.inf)
    return gap_BHNM * beta


def _inverse_temperature(beta: Beta, width: int) -> float:
    if beta is None:
        return width**-0.5
    try:
        value = float(beta)
    except ValueError:
        value = math.nan
    if not value >= 0:
        raise UserError(f"beta {beta!r}: expected a number from 0 (the mean) to 'inf' (the best key)")
    return value
