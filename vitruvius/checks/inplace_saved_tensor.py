"""A tensor that the backward pass needs was changed in place."""

from vitruvius.checks import Findings, InplaceChange, Trace, exact_error, lines, training

SICK = training(
    "h = net(torch.randn(8, 3)).sigmoid()",
    "h += 1  # here",
    "try:",
    "    h.mean().backward()",
    "except RuntimeError:",
    "    net(torch.randn(8, 3)).square().mean().backward()",
)
HEALTHY = SICK.replace("h += 1", "h = h + 1")


def inplace_saved_tensor(trace: Trace) -> Findings:
    """The backward pass that failed, and the change that it complains of; or a change that it did not see."""
    silent = [event for event in trace.of(InplaceChange) if not event.error]
    for event in silent[:1]:
        yield exact_error(
            where=event.where,
            also=lines(silent),
            evidence=f"{event.operation} has overwritten the result of {event.maker} through .data, "
            f"{len(silent)} times in the steps looked at, and the derivative of {event.maker} is "
            "computed from it",
            why="autograd does not see a change through .data: the gradient is wrong and nothing complains",
            fix="write a new tensor: h = torch.where(h < limit, 0, h), or h * (h >= limit)",
        )
        return
    for event in trace.of(InplaceChange)[:1]:
        if event.stepped:
            yield exact_error(
                where=event.where,
                also=(event.stepped,),
                evidence=f"torch has refused it: {event.error}; line {event.stepped.rpartition(':')[2]} has "
                "made a step since the forward pass",
                why="this loss was computed with the weights from before the step, and its derivatives need "
                "them",
                fix="run the forward pass again after the step, or make both backward passes before the "
                "first step",
            )
            return
        yield exact_error(
            where=event.where,
            evidence=f"torch has refused it: {event.error}",
            why="the derivative of an earlier operation is computed from its result, which "
            + (f"{event.operation} on this line has overwritten" if event.operation else "was overwritten"),
            fix="write a new tensor: h = h + 1 instead of h += 1, relu(h) instead of relu_(h), clone() "
            "before h[i] = ...",
        )
