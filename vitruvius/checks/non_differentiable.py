"""The loss goes through an operation without a useful derivative: rounding, sign or argmax."""

from vitruvius.checks import Argmax, Backward, Finding, Findings, Forward, Gradients, Step, Trace, lines
from vitruvius.checks._modules import holding

SICK = """
import torch
first, second = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.01)
for step in range(6):
    optimizer.zero_grad()
    hidden = first(torch.randn(8, 3)).round()
    second(hidden).square().mean().backward()  # here
    optimizer.step()
"""
HEALTHY = SICK.replace("first(torch.randn(8, 3)).round()", "first(torch.randn(8, 3)).tanh()")


def non_differentiable(trace: Trace) -> Findings:
    """Parameters behind such an operation whose gradients are all exactly zero, or that nothing reaches."""
    graphs = trace.graphs()
    stepped = {key for event in trace.of(Step) for key in event.parameters}
    flat = [event.where for event, graph in graphs if graph.zero_derivative]
    operation = next((graph.zero_derivative for _, graph in graphs if graph.zero_derivative), "")
    sizes = [event.rms for event in trace.of(Gradients)]
    still = [key for key in stepped if any(key in found for found in sizes)]
    still = [key for key in still if not any(found.get(key, 0.0) for found in sizes)]
    unreached = [key for key in stepped if trace.parameters[key].ran and not trace.parameters[key].reached]
    for found_at, keys, name in ((flat, still, operation), (_argmaxes(trace), unreached, "argmax")):
        if found_at and keys and len(graphs) > 1:
            names = ", ".join(trace.parameters[key].name for key in keys[:3])
            yield Finding(
                where=found_at[0],
                module=holding([trace.parameters[key].name for key in keys]),
                also=lines(event for event, _ in graphs),
                evidence=f"{name} lies between the loss and {names}: their gradients are exactly zero",
                why="the derivative of a step function is zero wherever it exists, of an index there is none",
                fix="use a smooth loss on the scores (cross-entropy), a straight-through estimator or a "
                "Gumbel softmax",
                severity="error",
                confidence="exact",
                explains=("detached_loss", "vanishing", "rate_too_low", "backward_without_step"),
            )
            return


def _argmaxes(trace: Trace) -> list[str]:
    """The line of each argmax between a forward pass and the backward pass that follows it."""
    found: list[str] = []
    held: list[str] = []
    for event in trace.of(Forward, Argmax, Backward):
        if isinstance(event, Backward):
            found += held
        held = [*held, event.where] if isinstance(event, Argmax) else []
    return found
