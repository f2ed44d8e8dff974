"""The loss does not reach parameters that should learn: it was detached or computed without gradients."""

from vitruvius.checks import Backward, Findings, Parameter, Step, Trace, exact_error, holding, lines, training
from vitruvius.checks._places import cut_line, loss_line

SICK = training(
    "hidden = net[0](torch.randn(8, 3)).relu().detach()",
    "net[1](hidden).square().mean().backward()  # here",
    net="nn.ModuleList([nn.Linear(3, 4), nn.Linear(4, 1)])",
)
HEALTHY = SICK.replace(".detach()", "")


def detached_loss(trace: Trace) -> Findings:
    """Parameters of an optimiser whose modules ran with gradients and that no backward pass reaches."""
    seen = [event for event, _ in trace.graphs()]
    stepped = dict.fromkeys(key for event in trace.of(Step) for key in event.parameters)
    cut = [trace.parameters[key] for key in stepped if trace.parameters[key].trainable]
    cut = [known for known in cut if known.ran and not known.reached]
    whole = [event for event in seen if event.is_leaf]
    if not cut or len(seen) < 2:
        return
    guilty = whole[0] if whole else _before_step(trace, cut) or seen[0]
    module = holding([known.name for known in cut])
    yield exact_error(
        where=loss_line(guilty.where) if whole else _cut_line(trace, module) or guilty.where,
        module=module,
        also=(guilty.where, *lines(trace.forwards())),
        evidence=f"{len(cut)} parameters ran in the forward pass and no gradient reaches them: "
        f"{', '.join(known.name for known in cut[:3])}" + ("; the loss has no history" if whole else ""),
        why=".detach(), .data, .item(), numpy or no_grad() between them and the loss cut the graph",
        fix="remove what cuts the graph between these modules and the loss; freeze them if that is meant",
        explains=("rate_too_low", "vanishing"),
    )


def _cut_line(trace: Trace, module: str | None) -> str:
    """The line in the files of the trained networks that cuts off what a module returns."""
    files = dict.fromkeys(event.where.rpartition(":")[0] for event in trace.forwards())
    return next(filter(None, (cut_line(f"{file}:1", module) for file in files)), "")


def _before_step(trace: Trace, cut: list[Parameter]) -> Backward | None:
    """The last backward pass before an optimiser steps that holds these parameters."""
    keys = {key for key, known in trace.parameters.items() if any(known is one for one in cut)}
    last: Backward | None = None
    for event in trace.of(Backward, Step):
        if isinstance(event, Backward):
            last = event
        elif isinstance(event, Step) and keys & {*event.parameters}:
            return last
    return None
