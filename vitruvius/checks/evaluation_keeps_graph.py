"""Evaluation records autograd graphs that nothing uses, and keeps them: torch.no_grad() is missing."""

from vitruvius.checks import Backward, Finding, Findings, GraphsKept, Trace, training

EVALUATION = """
net.eval()
total = 0.0
with torch.no_grad():
    for batch in range(8):
        total += net(torch.randn(8, 3)).square().mean()  # here
"""
HEALTHY = training() + EVALUATION
SICK = HEALTHY.replace("with torch.no_grad():", "if True:")


def evaluation_keeps_graph(trace: Trace) -> Findings:
    """Passes of a trained network with gradients that no backward pass uses; are their graphs held?"""
    trained = {event.network for event in trace.of(Backward)}
    for event in trace.of(GraphsKept):
        if not event.evaluation or event.network not in trained:
            continue
        kept = event.graphs > 0
        yield Finding(
            where=event.holder or event.where,
            also=(event.where,),
            severity="warning" if kept else "info",
            confidence="exact",
            evidence=f"{event.passes} passes recorded graphs that no backward pass has used"
            + (f", and {event.graphs} of these graphs were held at the same time" if kept else ""),
            why="a graph holds every activation of its pass"
            + (
                "; one that is kept for each batch fills the memory"
                if kept
                else ": time and memory for nothing"
            ),
            fix="with torch.no_grad(): around the evaluation" + (", and .item() of what is added up" * kept),
        )
