"""The loss goes through an operation without a useful derivative: rounding, sign or argmax."""

from vitruvius import checks
from vitruvius.checks import Backward, Findings, Forward, Step, Trace, exact_error, holding, lines, training

LESSON = "argmax_attention"
SICK = training(
    "hidden = net[0](torch.randn(8, 3)).round()  # here",
    "net[1](hidden).square().mean().backward()",
    net="nn.ModuleList([nn.Linear(3, 4), nn.Linear(4, 1)])",
)
HEALTHY = SICK.replace(".round()", ".tanh()")


def non_differentiable(trace: Trace) -> Findings:
    """Parameters behind such an operation whose gradients are all exactly zero, or that nothing reaches."""
    graphs = trace.graphs()
    stepped = {key for event in trace.of(Step) for key in event.parameters}
    flat = [graph.zero_at or event.where for event, graph in graphs if graph.zero_derivative]
    operation = next((graph.zero_derivative for _, graph in graphs if graph.zero_derivative), "")
    sizes = [event.rms for event in trace.of(checks.Gradients)]
    still = [key for key in stepped if any(key in found for found in sizes)]
    still = [key for key in still if not any(found.get(key, 0.0) for found in sizes)]
    unreached = [key for key in stepped if trace.parameters[key].ran and not trace.parameters[key].reached]
    for found_at, keys, name in ((flat, still, operation), (_argmaxes(trace), unreached, "argmax")):
        if found_at and keys and len(graphs) > 1:
            names = ", ".join(trace.parameters[key].name for key in keys[:3])
            yield exact_error(
                where=found_at[0],
                module=holding([trace.parameters[key].name for key in keys]),
                also=lines(event for event, _ in graphs),
                evidence=f"{name} lies between the loss and {names}: their gradients are exactly zero",
                why="the derivative of a step function is zero wherever it exists, of an index there is none",
                fix="use a smooth loss on the scores (cross-entropy), a straight-through estimator or a "
                "Gumbel softmax",
                explains=("detached_loss", "vanishing", "rate_too_low", "backward_without_step"),
            )
            return


def _argmaxes(trace: Trace) -> list[str]:
    """The line of each argmax between a forward pass and the backward pass that follows it."""
    found: list[str] = []
    held: list[str] = []
    for event in trace.of(Forward, checks.Argmax, Backward):
        if isinstance(event, Backward):
            found += held
        held = [*held, event.where] if isinstance(event, checks.Argmax) else []
    return found
