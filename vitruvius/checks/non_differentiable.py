"""The loss goes through an operation without a useful derivative: rounding, sign or argmax."""

from collections.abc import Iterator

from vitruvius.checks import Event, Finding, Trace
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


def non_differentiable(trace: Trace) -> Iterator[Finding]:
    """Parameters behind such an operation whose gradients are all exactly zero, or that nothing reaches."""
    backwards = [event for event in trace.of("backward") if event["graph"] is not None]
    stepped = {key for event in trace.of("step") for key in event["parameters"]}
    flat = [event for event in backwards if event["graph"].flat]
    chosen = _chosen(trace)
    sizes = [event["sizes"] for event in trace.of("gradients")]
    still = [key for key in stepped if any(key in found for found in sizes)]
    still = [key for key in still if not any(found.get(key, 0.0) for found in sizes)]
    unreached = [key for key in stepped if trace.parameters[key].ran and not trace.parameters[key].reached]
    for events, keys, name in ((flat, still, "rounding"), (chosen, unreached, "argmax")):
        if events and keys and len(backwards) > 1:
            names = ", ".join(trace.parameters[key].name for key in keys[:3])
            what = events[0]["graph"].flat if name == "rounding" else "argmax"
            yield Finding(
                where=events[0].where,
                module=holding([trace.parameters[key].name for key in keys]),
                also=tuple({event.where for event in backwards}),
                evidence=f"{what} lies between the loss and {names}: their gradients are exactly zero",
                why="the derivative of a step function is zero wherever it exists, of an index there is none",
                fix="use a smooth loss on the scores (cross-entropy), a straight-through estimator or a Gumbel softmax",
                severity="error",
                exact=True,
                explains=("detached_loss", "vanishing", "rate_too_low", "backward_without_step"),
            )
            return


def _chosen(trace: Trace) -> list[Event]:
    """Each argmax that stands between a forward pass and the backward pass that follows it."""
    found: list[Event] = []
    held: list[Event] = []
    for event in trace.of("forward", "argmax", "backward"):
        if event.kind == "backward":
            found += held
        held = [*held, event] if event.kind == "argmax" else []
    return found
