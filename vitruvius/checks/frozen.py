"""Parameters are frozen (requires_grad=False) in a network that trains."""

from vitruvius.checks import Findings, Trace, exact_note, holding, training
from vitruvius.checks._places import frozen_line

SICK = training(
    net="nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))",
    init="net[0].requires_grad_(False)  # here",
    optimiser="SGD(net[2].parameters(), lr=0.01)",
)
HEALTHY = SICK.replace("net[0].requires_grad_(False)", "").replace("net[2].parameters", "net.parameters")


def frozen(trace: Trace) -> Findings:
    """Parameters of a trained network with requires_grad=False; often on purpose: only info."""
    still = [known for known in trace.parameters.values() if known.name and not known.trainable and known.ran]
    forwards = trace.forwards()
    if still and forwards and trace.steps:
        yield exact_note(
            where=frozen_line(forwards[0].where) or forwards[0].where,
            also=(forwards[0].where,),
            module=holding([known.name for known in still]),
            evidence=f"{len(still)} of {len(trace.parameters)} parameters have requires_grad=False: "
            f"{', '.join(known.name for known in still[:3])}",
            why="frozen parameters keep their values; right for a pretrained part, wrong for one that should "
            "learn",
            fix="requires_grad_(True) for what should learn; nothing otherwise",
        )
