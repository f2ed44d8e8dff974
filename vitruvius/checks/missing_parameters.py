"""Parameters take part in the loss but no optimiser holds them: they never learn."""

from collections.abc import Iterator

from vitruvius.checks import Finding, Trace

SICK = """
import torch
first, second = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(second.parameters(), lr=0.01)  # here
for step in range(6):
    optimizer.zero_grad()
    second(first(torch.randn(8, 3)).relu()).square().mean().backward()
    optimizer.step()
"""
HEALTHY = SICK.replace("second.parameters()", "[*first.parameters(), *second.parameters()]")


def missing_parameters(trace: Trace) -> Iterator[Finding]:
    """Leaves that backward passes reach, that nobody moves, and that no optimiser was given."""
    if not trace.of("step"):
        return
    optimised = trace.optimised()
    missing = {
        key: known
        for key, known in trace.parameters.items()
        if known.reached and known.trainable and not known.changed and key not in optimised
    }
    seen = [event for event in trace.of("backward") if event["graph"] is not None]
    # An input that asks for its gradient is a new tensor each time; what learns comes back in later passes.
    lasting = {key: known for key, known in missing.items() if sum(key in e["graph"].leaves for e in seen) > 1}
    if not lasting:
        return
    held = [trace.parameters[key] for key in optimised]
    if not any(known.layer for known in held):
        return  # what is optimised is no network but an input, an image or a latent vector
    lost = [known for known in held if not known.reached and not known.name]
    if any(known.shape in {other.shape for other in lost} for known in lasting.values()):
        return  # the optimiser holds their predecessors: replaced_parameters
    names = [known.name or f"a tensor {list(known.shape)} outside any module that ran" for known in lasting.values()]
    yield Finding(
        where=trace.of("optimiser", "step")[0].where,
        also=(seen[0].where,),
        evidence=f"{len(lasting)} parameters get gradients and are in no optimiser: {', '.join(names[:4])}"
        + (", ..." if len(names) > 4 else ""),
        why="an optimiser moves only what it was given; tensors in Python lists are not found by parameters()",
        fix="hand them to the optimiser; hold modules in nn.ModuleList, or freeze them with requires_grad_(False)",
        severity="error",
        exact=True,
    )
