"""The loss is the sum over the batch, not its mean: the learning rate grows with the batch."""

from vitruvius.checks import Criterion, Finding, Findings, OptimiserBuilt, Step, Trace, lines, training
from vitruvius.checks._losses import has_fallen
from vitruvius.checks._places import criterion_line, divides_rate, loss_line

SICK = training(
    "x = torch.randn(8, 3)",
    "(net(x) - x[:, :1]).square().sum().backward()  # here",
    optimiser="SGD(net.parameters(), lr=0.001)",
)
HEALTHY = SICK.replace(".sum()", ".sum().div(8)")
ADAPTIVE = ("Ada", "NAdam", "RAdam", "SparseAdam", "RMSprop", "Rprop")
"""Optimisers that divide a gradient by its own size: a factor in the loss hardly matters to them."""


def summed_loss(trace: Trace) -> Findings:
    """A loss that is a sum over rows, in a criterion or written by hand."""
    forwards = {event.batch: event.size for event in trace.forwards()}
    criteria = [event for event in trace.of(Criterion) if event.reduction == "sum" and event.grad]
    values = {event.value: event for event in criteria if event.value is not None}
    steps = trace.of(Step)
    applied = {waiting.where for event in steps for waiting in event.waiting}
    for event, graph in trace.graphs():
        if applied and event.where not in applied:  # a saliency map, not a loss
            continue
        scores = values[event.value].scores if event.value in values else ()
        rows = (scores[0] if scores else 0) if criteria else graph.summed_rows
        size = forwards.get(event.batch, 0)
        by_hand = any(abs((step.gradient_scale or 1.0) * rows - 1) < 0.02 for step in steps)
        if rows > 1 and not by_hand and (criteria or (size > 1 and rows % size == 0)):
            adapts = any(step.name.startswith(ADAPTIVE) for step in steps)
            rate = next((step.lr for step in steps if not adapts), None)
            implied = f"; the rate {rate:g} acts like {rate * rows:g} on the mean" if rate else ""
            built = [made.where for made in trace.of(OptimiserBuilt)]
            meant = any(divides_rate(where, rows) for where in built)  # so that it suits the sum
            # All rows in every step: the sum is a mean with another rate, which suits if the loss falls.
            suits = len(forwards) == 1 and has_fallen(trace)
            yield Finding(
                where=criterion_line(criteria[0].where, "reduction") if criteria else loss_line(event.where),
                also=(event.where, *lines(criteria)),
                evidence=f"the loss adds up {rows} rows and is not divided{implied}",
                why="its gradient grows with the batch: another batch size, or a smaller last batch, changes "
                "the step",
                fix="take the mean (reduction='mean'), or divide by the number of rows",
                severity="info" if adapts or meant or suits else "warning",
                explains=("rate_too_high", "exploding", "initial_loss", "non_finite"),
            )
            return
