r"""Softmax attention as message passing: each key sends its value along edges to queries.

$o_i = \sum_{(j \to i)} w_{ij} v_j$, where $w_{ij}$ is the softmax of $q_i \cdot k_j / \sqrt{D} + m_{ij}$ over
the edges that end in $i$. A dense mask is the graph of its visible pairs, no mask the complete graph; a query
without edges gets 0. Cost grows with the number of edges, not with N times M.

Shapes: B batch, H heads, N queries, M keys, D query and key width, E value width, L edges.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from vitruvius.kernels import Edges, Mask, _inputs


class EdgeList(NamedTuple):
    """Edges shared by all batches and heads, and the mask that each batch and head adds to their scores."""

    source_L: Tensor
    target_L: Tensor
    bias_BHL: Tensor | None  # broadcasts; -inf where this batch or head lacks the edge


@_inputs.in_full_precision
def weights(q: Tensor, k: Tensor, mask: Mask = None) -> Tensor:
    """The weight of every key for every query (B, H, N, M), 0 where there is no edge."""
    _inputs.check(q, k)
    edges = _edge_list(mask, q, k)
    return _scatter(_edge_weights(q, k, edges), edges, q.shape[2], k.shape[2])


@_inputs.in_full_precision
def attend(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None) -> Tensor:
    """The weighted sum of the values that each query receives, (B, H, N, E).

    >>> value = torch.tensor([5.0, 6.0, 7.0]).view(1, 1, 3, 1)
    >>> edges = Edges(source=torch.tensor([2, 0, 1]), target=torch.tensor([0, 1, 1]))
    >>> attend(torch.zeros_like(value), torch.zeros_like(value), value, edges).flatten().tolist()
    [7.0, 5.5, 0.0]
    """
    _inputs.check(q, k, v)
    edges = _edge_list(mask, q, k)
    weight_BHL = _edge_weights(q, k, edges)
    queries, keys = q.shape[2], k.shape[2]
    if _dense_is_smaller(edges, queries * keys, v.shape[3]):
        return _scatter(weight_BHL, edges, queries, keys) @ v
    message_BHLE = weight_BHL.unsqueeze(-1) * v.index_select(2, edges.source_L)
    return v.new_zeros(*q.shape[:3], v.shape[3]).index_add(2, edges.target_L, message_BHLE)


def _edge_list(mask: Mask, q: Tensor, k: Tensor) -> EdgeList:
    queries, keys = q.shape[2], k.shape[2]
    if isinstance(mask, Edges):
        return EdgeList(*_inputs.checked_edges(mask, queries, keys), None)
    bias = _inputs.dense(mask, q, k)
    if bias is None:
        pair_L = torch.arange(queries * keys, device=q.device)
        return EdgeList(pair_L % keys, pair_L // keys, None)
    bias = bias.expand(-1, -1, queries, keys)
    visible = ~_inputs.hidden(bias)
    target_L, source_L = visible.flatten(0, 1).any(0).nonzero(as_tuple=True)
    if bias.dtype == torch.bool:
        bias = q.new_zeros(bias.shape).masked_fill(~visible, -torch.inf)
    return EdgeList(source_L, target_L, bias[:, :, target_L, source_L])


def _edge_weights(q: Tensor, k: Tensor, edges: EdgeList) -> Tensor:
    """Softmax over the edges with the same target (B, H, L)."""
    score_BHL = _edge_scores(q * q.shape[-1] ** -0.5, k, edges)
    if edges.bias_BHL is not None:
        score_BHL = score_BHL + edges.bias_BHL
    index_BHL = edges.target_L.expand(score_BHL.shape)
    top_BHN = score_BHL.new_full(q.shape[:3], torch.finfo(score_BHL.dtype).min)
    top_BHN = top_BHN.scatter_reduce(2, index_BHL, score_BHL.detach(), "amax")
    power_BHL = (score_BHL - top_BHN.index_select(2, edges.target_L)).exp()
    total_BHN = power_BHL.new_zeros(q.shape[:3]).index_add(2, edges.target_L, power_BHL)
    # Divided by infinity where every edge of a query is masked: weight and gradient are 0.
    total_BHN = total_BHN.masked_fill(total_BHN == 0, torch.inf)
    return power_BHL / total_BHN.index_select(2, edges.target_L)


def _edge_scores(q: Tensor, k: Tensor, edges: EdgeList) -> Tensor:
    queries, keys = q.shape[2], k.shape[2]
    if _dense_is_smaller(edges, queries * keys, q.shape[3]):
        return (q @ k.mT).flatten(2).index_select(2, edges.target_L * keys + edges.source_L)
    return (q.index_select(2, edges.target_L) * k.index_select(2, edges.source_L)).sum(-1)


def _scatter(weight_BHL: Tensor, edges: EdgeList, queries: int, keys: int) -> Tensor:
    flat = weight_BHL.new_zeros(*weight_BHL.shape[:2], queries * keys)
    flat = flat.index_copy(2, edges.target_L * keys + edges.source_L, weight_BHL)
    return flat.view(*weight_BHL.shape[:2], queries, keys)


def _dense_is_smaller(edges: EdgeList, pairs: int, width: int) -> bool:
    """Whether one number per pair of a dense product takes less memory than one vector per edge."""
    return len(edges.source_L) * width > pairs
