"""Parameters take part in the loss but no optimiser holds them: they never learn."""

from vitruvius import checks
from vitruvius.checks import Backward, Finding, Findings, OptimiserBuilt, Step, Trace, holding, training
from vitruvius.checks._held import left_out, replaced
from vitruvius.checks._patches import registered
from vitruvius.core.patch import Patch

SICK = training(
    "net[1](net[0](torch.randn(8, 3)).relu()).square().mean().backward()",
    net="nn.ModuleList([nn.Linear(3, 4), nn.Linear(4, 1)])",
    optimiser="SGD(net[1].parameters(), lr=0.01)  # here",
)
HEALTHY = SICK.replace("net[1].parameters()", "net.parameters()")


def missing_parameters(trace: Trace) -> Findings:
    """Parameters with gradients that no optimiser applies; an error where parameters() cannot find them."""
    made = trace.of(OptimiserBuilt, Step)
    if not trace.of(Step) or any(replaced(trace, event)[0] for event in trace.of(OptimiserBuilt)):
        return
    missing = [known for known in left_out(trace).values() if not _rests(trace, known)]
    if not any(trace.parameters[key].layer for key in trace.optimised()):
        # What is optimised is no network but an image or a latent vector: networks are only looked through.
        missing = [known for known in missing if not known.declared]
    if not missing:
        return
    names = [
        known.name or _attribute(known) or f"a tensor {list(known.shape)} outside any module that ran"
        for known in missing
    ]
    hidden = any(known.declared and not known.name and len(known.shape) > 1 for known in missing)
    yield Finding(
        where=made[0].where,
        module=holding([known.name for known in missing]),
        also=(trace.of(Backward)[0].where,),
        evidence=f"{len(missing)} parameters get gradients and are in no optimiser: {', '.join(names[:4])}"
        + (", ..." if len(names) > 4 else ""),
        why="an optimiser moves only what it was given; tensors in Python lists are not found by "
        "parameters()",
        fix="hand them to the optimiser; hold modules in nn.ModuleList, or freeze them with "
        "requires_grad_(False)",
        severity="error" if hidden else "warning",
        patch=_patch(trace, missing) if hidden else None,
        confidence="exact",
    )


def _attribute(known: checks.Parameter) -> str:
    return f"{list(known.shape)} in the plain list or dictionary {known.attribute}" if known.attribute else ""


def _patch(trace: Trace, missing: list[checks.Parameter]) -> Patch | None:
    """Hold the modules of one plain list or dictionary in a ModuleList or ModuleDict."""
    attributes = {known.attribute for known in missing}
    lines = [event.where for event in (*trace.of(Step), *trace.forwards())]
    return registered(attributes.pop(), lines) if len(attributes) == 1 and all(attributes) else None


def _rests(trace: Trace, known: checks.Parameter) -> bool:
    """Whether its network learns nothing and only runs in eval mode, as a teacher does."""
    runs = [event for event in trace.forwards() if event.network == known.network]
    learns = any(trace.parameters[key].network == known.network for key in trace.optimised())
    return bool(runs) and not learns and not any(event.training for event in runs)
