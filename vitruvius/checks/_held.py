"""What optimisers were not given, and what they still hold although no network does."""

from math import prod

from vitruvius.checks import Event, Parameter, Trace


def left_out(trace: Trace) -> dict[int, Parameter]:
    """Parameters that backward passes reach again and again, that nothing moves and no optimiser was given."""
    optimised = trace.optimised()
    asked = {key for event in trace.of("asked") for key in event["keys"]}
    by_hand = any(not trace.parameters[key].declared for key in optimised)
    graphs = [event["graph"] for event in trace.of("backward") if event["graph"] is not None]
    found = {}
    for key, known in trace.parameters.items():
        still = known.reached and known.trainable and not known.changed
        # An input may ask for its gradient: a new tensor each time, or one that is large or differentiated for.
        meant = known.declared or by_hand or prod(known.shape) == 1
        lasting = sum(key in graph.leaves for graph in graphs) > 1
        if still and meant and lasting and key not in asked and key not in optimised:
            found[key] = known
    return found


def replaced(trace: Trace, optimiser: Event) -> tuple[list[Parameter], list[Parameter]]:
    """Tensors of an optimiser that no network holds any more, and those of networks that took their place."""
    new = [known for known in left_out(trace).values() if known.name]
    graphs = [event["graph"] for event in trace.of("backward") if event["graph"] is not None]
    used = graphs[-1].leaves if graphs else set()
    lost = [trace.parameters[key] for key in optimiser["parameters"] if key not in used]
    lost = [known for known in lost if not known.name]
    if not any(known.layer for known in lost):  # they never ran: say whose place was taken
        networks = {trace.parameters[key].network for key in optimiser["parameters"]}
        shapes = {known.shape for known in lost}
        new = [known for known in new if known.shape in shapes or known.network in networks]
    return (lost, new) if lost and new else ([], [])
