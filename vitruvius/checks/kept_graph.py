"""Losses are added up or collected with their autograd graphs: memory grows with every step."""

from vitruvius.checks import Finding, Findings, GraphsKept, Trace, training

HEALTHY = training(
    "loss = net(torch.randn(8, 3)).square().mean()",
    "loss.backward()",
    "total += loss.item()  # here",
    init="total = 0.0",
    steps=8,
)
SICK = HEALTHY.replace("loss.item()", "loss")


def kept_graph(trace: Trace) -> Findings:
    """Losses of several earlier steps whose autograd graphs all exist still."""
    for event in trace.of(GraphsKept):
        if not event.evaluation:
            what = "outputs" if event.outputs else "losses"
            yield Finding(
                severity="warning" if event.outputs else "error",
                confidence="exact",
                where=event.holder or event.where,
                also=(event.where,),
                evidence=f"the autograd graphs of {event.graphs} {what} of earlier steps existed at the same "
                "time" + ("" if event.holder else "; what holds them was not found"),
                why="a loss or an output that is added up or put into a list keeps the graph that made it, "
                "for every step",
                fix="append output.detach()"
                if event.outputs
                else "add loss.item(), or loss.detach() where the number is not needed at once",
            )
