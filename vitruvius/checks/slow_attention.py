"""Attention loses the fused kernel: 3-D input, or dropout on the CPU."""

from vitruvius.checks import Attention, Finding, Findings, Trace, training

LESSON = "attention_cost"
SICK = training(
    "h = net(torch.randn(2, 5, 8))",
    "F.scaled_dot_product_attention(h, h, h).square().mean().backward()  # here",
    net="nn.Linear(8, 8)",
)
HEALTHY = SICK.replace("torch.randn(2, 5, 8)", "torch.randn(2, 1, 5, 8)")


def slow_attention(trace: Trace) -> Findings:
    """Calls of scaled_dot_product_attention in the user's own code that the fused kernel does not take."""
    for event in trace.of(Attention):
        dropped = event.dropout > 0 and event.device == "cpu"
        if event.direct and (event.dim == 3 or dropped):
            what = f"dropout_p={event.dropout:g} on the CPU" if dropped else "3-D input"
            heads = "a heads axis, (batch, heads, tokens, width)"
            yield Finding(
                where=event.where,
                evidence=f"scaled_dot_product_attention with {what}",
                why="it then computes and stores the whole matrix of weights: more time and memory",
                fix="dropout after the attention instead" if dropped else heads,
                severity="info",
                confidence="exact",
            )
            return
