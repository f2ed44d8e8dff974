"""Weight decay also shrinks norms and biases."""

from vitruvius.checks import Findings, OptimiserBuilt, Trace, exact_note, holding, training

SICK = training(
    net="nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 1))",
    optimiser="AdamW(net.parameters(), lr=0.01, weight_decay=0.1)  # here",
)
HEALTHY = SICK.replace("weight_decay=0.1", "weight_decay=0.0")


def decay_on_norms(trace: Trace) -> Findings:
    """Parameters of normalisation layers in a group with weight decay; often on purpose: only info."""
    for event in trace.of(OptimiserBuilt):
        decayed = [trace.parameters[key] for key in event.decayed]
        gains = [known.name for known in decayed if "Norm" in known.layer and known.name]
        if gains:
            yield exact_note(
                where=event.where,
                module=holding(gains),
                evidence=f"{event.name} decays {len(gains)} parameters of norms: {', '.join(gains[:3])}",
                why="pulling gains and biases towards zero does not regularise what a layer computes",
                fix="two groups: matrices with weight_decay, vectors (p.dim() < 2) with weight_decay=0",
            )
            return
