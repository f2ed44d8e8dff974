"""Parameters were replaced after the optimiser was built: it moves tensors that nothing uses."""

from vitruvius.checks import Backward, Findings, OptimiserBuilt, Trace, exact_error, holding, training
from vitruvius.checks._held import replaced

REPLACED = "net.weight = nn.Parameter(torch.zeros(1, 3))"
SICK = training(optimiser=f"SGD(net.parameters(), lr=0.01)  # here\n{REPLACED}")
HEALTHY = SICK.replace(REPLACED, "nn.init.zeros_(net.weight)")
CONSEQUENCES = ("backward_without_step", "step_without_backward", "zeroed_before_step", "detached_loss")


def replaced_parameters(trace: Trace) -> Findings:
    """A tensor of an optimiser that no network holds any more, and a parameter that no optimiser holds."""
    for event in trace.of(OptimiserBuilt):
        lost, new = replaced(trace, event)
        if lost:
            yield exact_error(
                where=event.where,
                module=holding([item.name for item in new]),
                also=(trace.of(Backward)[0].where,),
                evidence=f"{len(lost)} parameters of this {event.name} belong to no network that ran; "
                f"{', '.join(item.name for item in new[:4])} took their place",
                why="the optimiser keeps the old tensors; the new ones get gradients that nobody applies",
                fix="build the optimiser after the last change of the network, or initialise in place "
                "(nn.init)",
                explains=CONSEQUENCES,
            )
