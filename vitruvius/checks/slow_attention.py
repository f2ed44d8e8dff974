"""Attention loses the fused kernel: 3-D input, dropout on the CPU, or two products and a softmax by hand."""

from math import prod

from vitruvius.checks import Attention, Finding, Findings, Trace, exact_note, named, training
from vitruvius.checks._cost import LARGEST, milliseconds

LESSON = "attention_cost"
SICK = training(
    "h = net(torch.randn(2, 5, 8))",
    "F.scaled_dot_product_attention(h, h, h).square().mean().backward()  # here",
    net="nn.Linear(8, 8)",
)
HEALTHY = SICK.replace("torch.randn(2, 5, 8)", "torch.randn(2, 1, 5, 8)")


def slow_attention(trace: Trace) -> Findings:
    """Calls of scaled_dot_product_attention that the fused kernel does not take, and attention by hand."""
    for event in trace.of(Attention):
        dropped = event.dropout > 0 and event.device == "cpu"
        if event.direct and (event.dim == 3 or dropped):
            what = f"dropout_p={event.dropout:g} on the CPU" if dropped else "3-D input"
            heads = "a heads axis, (batch, heads, tokens, width)"
            yield _finding(
                event.where,
                f"scaled_dot_product_attention with {what}",
                "dropout after the attention instead" if dropped else heads,
            )
            return
    for backward, graph in trace.graphs():
        if graph.by_hand is not None:
            where, module, shape = graph.by_hand
            yield _finding(
                where or backward.where,
                f"attention weights {list(shape[:-1])} are computed by a product, a softmax and a product"
                + _timed(shape),
                "F.scaled_dot_product_attention(q, k, v, is_causal=...), with q of (batch, heads, "
                "tokens, width)",
                named(trace, module),
            )
            return


def _finding(where: str, evidence: str, fix: str, module: str | None = None) -> Finding:
    return exact_note(
        where=where,
        module=module,
        evidence=evidence,
        why="the whole matrix of weights is then computed and stored: more time and memory",
        fix=fix,
    )


def _timed(shape: tuple[int, ...]) -> str:
    """Both ways measured on random numbers of that shape: (..., queries, keys, width)."""
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    *batch, queries, keys, width = shape
    if prod(shape[:-1]) > LARGEST or prod(batch) * (queries + keys) * width > LARGEST:
        return ""
    heads = (prod(batch[:-1]), *batch[-1:]) if batch else (1, 1)
    q, k = torch.zeros(*heads, queries, width), torch.zeros(*heads, keys, width)
    by_hand = milliseconds(lambda: (q @ k.mT / width**0.5).softmax(-1) @ k)
    fused = milliseconds(lambda: scaled_dot_product_attention(q, k, k))
    return f": {by_hand:.3g} ms forward against {fused:.3g} ms fused"
