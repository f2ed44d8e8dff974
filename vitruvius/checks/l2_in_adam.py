"""Adam adds weight decay to its gradients, where AdamW applies it to the weights."""

from vitruvius.checks import Finding, Findings, OptimiserBuilt, Trace, training

HEALTHY = training(
    optimiser="AdamW(net.parameters(), lr=0.01, weight_decay=0.05)  # here", net="nn.Linear(3, 1, bias=False)"
)
SICK = HEALTHY.replace("AdamW", "Adam")
LARGE = 0.01


def l2_in_adam(trace: Trace) -> Findings:
    """Weight decay inside Adam; of the size that is usual for AdamW, a suspicion."""
    found = [event for event in trace.of(OptimiserBuilt) if event.name == "Adam" and event.added_decay > 0]
    if found:
        first = found[0]
        yield Finding(
            where=first.where,
            severity="warning" if first.added_decay >= LARGE else "info",
            confidence="exact",
            evidence=f"Adam with weight_decay={first.added_decay:g} on {len(first.decayed)} parameters",
            why="Adam divides the decay by the size of the gradients: weights with large gradients hardly "
            "decay",
            fix="torch.optim.AdamW with the same arguments, if weight decay is meant",
        )
