"""Parameters that no optimiser holds, and parameters of optimisers that no network holds."""

from math import prod

from vitruvius.checks import AutogradGrad, OptimiserBuilt, Parameter, Trace


def left_out(trace: Trace) -> dict[int, Parameter]:
    """Parameters that several backward passes reach, that no optimiser holds and that never change."""
    optimised = trace.optimised()
    asked = {key for event in trace.of(AutogradGrad) for key in event.inputs}
    by_hand = any(not trace.parameters[key].declared for key in optimised)
    graphs = [graph for _, graph in trace.graphs()]
    found = {}
    for key, known in trace.parameters.items():
        still = known.reached and known.trainable and not known.changed
        # An input may require a gradient too: a new tensor each time, a large one, or one for autograd.grad.
        meant = known.declared or by_hand or prod(known.shape) == 1
        lasting = sum(key in graph.leaves for graph in graphs) > 1
        if still and meant and lasting and key not in asked and key not in optimised:
            found[key] = known
    return found


def replaced(trace: Trace, optimiser: OptimiserBuilt) -> tuple[list[Parameter], list[Parameter]]:
    """Tensors of an optimiser that no network holds any more, and the parameters that replaced them."""
    new = [known for known in left_out(trace).values() if known.name]
    graphs = [graph for _, graph in trace.graphs()]
    used = graphs[-1].leaves if graphs else set()
    lost = [trace.parameters[key] for key in optimiser.parameters if key not in used]
    lost = [known for known in lost if not known.name]
    if not any(known.layer for known in lost):  # they never ran: only parameters that may have replaced them
        networks = {trace.parameters[key].network for key in optimiser.parameters}
        shapes = {known.shape for known in lost}
        new = [known for known in new if known.shape in shapes or known.network in networks]
    return (lost, new) if lost and new else ([], [])
