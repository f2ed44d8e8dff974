"""Constant initialisation: all units of a layer start equal, get equal gradients and stay equal."""

from vitruvius.checks import Backward, Findings, Trace, exact_error, holding, training
from vitruvius.checks._layers import built_at

SICK = training(
    "x = torch.randn(8, 3)",
    "(net(x) - x[:, :1]).square().mean().backward()",
    net="nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))",
    init="for parameter in [*net[0].parameters(), net[2].weight]: nn.init.constant_(parameter, 0.1)  # here",
)
HEALTHY = SICK.replace(", net[2].weight", "")


def symmetric_init(trace: Trace) -> Findings:
    """Weights whose units were equal at the start and are equal still after the steps that were watched."""
    optimised = trace.optimised()
    moved = [known for key, known in trace.parameters.items() if known.reached and key in optimised]
    alike = [known for known in moved if known.alike and known.name]
    alike = [known for known in alike if "Norm" not in known.layer and "Embedding" not in known.layer]
    if not alike or trace.steps < 3:
        return
    passes = [*trace.forwards(), *trace.of(Backward)]
    yield exact_error(
        where=alike[0].initialised or built_at(trace, holding([alike[0].name])) or passes[0].where,
        module=holding([alike[0].name]),
        also=(passes[0].where, trace.of(Backward)[0].where),
        evidence=f"all {alike[0].shape[0]} units of {alike[0].name} are equal, at the start and after "
        f"{trace.steps} steps",
        why="equal units get equal gradients: the layer acts like a single unit however wide it is",
        fix="leave torch's own initialisation, or draw the weights at random (nn.init.xavier_uniform_)",
        explains=("dead_relu", "rate_too_low", "vanishing"),
    )
