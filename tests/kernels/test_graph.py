"""Attention over edges: messages, isolated nodes and cost by edges."""

import math
from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor

from vitruvius.kernels import Edges, graph


def draw(nodes: int, width: int = 4, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    random = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(2, 2, nodes, width, dtype=dtype, generator=random) for _ in range(3))
    return q, k, v


def ring(nodes: int) -> Edges:
    """Every node hears its left neighbour and itself."""
    here = torch.arange(nodes)
    return Edges(source=torch.cat([here, (here - 1) % nodes]), target=torch.cat([here, here]))


def definition(q: Tensor, k: Tensor, v: Tensor, edges: list[tuple[int, int]]) -> Tensor:
    """Node by node, edge by edge, for one batch and head."""
    out = torch.zeros(len(q), v.shape[1], dtype=v.dtype)
    for node in range(len(q)):
        senders = [source for source, target in edges if target == node]
        powers = [math.exp(float(q[node].dot(k[s])) / math.sqrt(q.shape[1])) for s in senders]
        for sender, power in zip(senders, powers, strict=True):
            out[node] += power / sum(powers) * v[sender]
    return out


def test_the_output_is_the_definition() -> None:
    q, k, v = draw(6)
    pairs = [(0, 1), (2, 1), (5, 1), (3, 3), (4, 0), (1, 0)]
    source, target = torch.tensor(pairs).unbind(1)
    out = graph.attend(q, k, v, Edges(source, target))
    for b in range(2):
        for h in range(2):
            assert torch.allclose(out[b, h], definition(q[b, h], k[b, h], v[b, h], pairs), atol=1e-12)


def test_without_a_mask_the_graph_is_complete() -> None:
    q, k, v = draw(6)
    everyone = [(source, target) for source in range(6) for target in range(6)]
    assert torch.allclose(
        graph.attend(q, k, v)[0, 0], definition(q[0, 0], k[0, 0], v[0, 0], everyone), atol=1e-12
    )


def test_a_node_that_hears_nobody_is_zero_and_so_is_a_graph_without_edges() -> None:
    q, k, v = draw(6)
    out = graph.attend(q, k, v, Edges(torch.tensor([0, 5]), torch.tensor([1, 1])))
    assert (out[:, :, [0, 2, 3, 4, 5]] == 0).all()
    assert (out[:, :, 1] != 0).all()
    nothing = torch.zeros(0, dtype=torch.long)
    assert (graph.attend(q, k, v, Edges(nothing, nothing)) == 0).all()


def test_one_message_arrives_unchanged() -> None:
    q, k, v = draw(6, dtype=torch.float32)
    out = graph.attend(q, k, v, Edges(torch.tensor([3]), torch.tensor([0])))
    assert torch.equal(out[:, :, 0], v[:, :, 3])


@pytest.mark.parametrize("nodes", [6, 40])  # vectors per edge, or a number per pair: whichever is smaller
def test_sparse_and_dense_sums_agree(nodes: int) -> None:
    q, k, v = (x.requires_grad_() for x in draw(nodes))
    edges = ring(nodes)
    seen = torch.zeros(nodes, nodes, dtype=torch.bool)
    seen[edges.target, edges.source] = True
    score = (q @ k.mT / 2).masked_fill(~seen, -torch.inf)
    expected, out = score.softmax(-1) @ v, graph.attend(q, k, v, edges)
    assert torch.allclose(out, expected, atol=1e-12)
    for x, y in zip(
        *(torch.autograd.grad(o.square().sum(), (q, k, v)) for o in (out, expected)), strict=True
    ):
        assert torch.allclose(x, y, atol=1e-12)


def test_scores_far_apart_stay_finite() -> None:
    q, k, v = draw(6, dtype=torch.float32)
    assert graph.attend(1e4 * q, 1e4 * k, v, ring(6)).isfinite().all()


def test_bytes_kept_for_backward_grow_with_the_edges(
    saved_bytes: Callable[[Callable[[], Tensor]], int],
) -> None:
    kept = []
    for nodes in (1024, 2048):
        q, k, v = (x.requires_grad_() for x in draw(nodes, dtype=torch.float32))
        kept.append(saved_bytes(partial(graph.attend, q, k, v, ring(nodes))))
    assert kept[1] <= 2.1 * kept[0]
