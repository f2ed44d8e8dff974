"""Two optimisers move the same parameter by the same gradient: every step is made twice."""

from vitruvius.checks import Findings, Step, Trace, exact_error, holding, lines, training

HEALTHY = training(net="nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))").replace(
    "SGD(net.parameters(), lr=0.01)",
    "SGD(net[0].parameters(), lr=0.01)\nsecond = torch.optim.SGD(net[1].parameters(), lr=0.01)",
)
HEALTHY = HEALTHY.replace("    optimizer.zero_grad()", "    net.zero_grad()") + "    second.step()  # here\n"
SICK = HEALTHY.replace("SGD(net[0].parameters()", "SGD(net.parameters()")


def two_optimisers(trace: Trace) -> Findings:
    """Steps with gradients that a step of another optimiser has just used."""
    steps = trace.of(Step)
    twice = [event for event in steps if event.shared]
    if len(twice) > 1:
        first = twice[0]
        others = {key for event in steps if event.optimiser != first.optimiser for key in event.parameters}
        both = [trace.parameters[key].name for key in first.parameters if key in others]
        yield exact_error(
            where=first.where,
            also=lines(twice),
            module=holding([name for name in both if name]) if any(both) else None,
            evidence=f"in {len(twice)} of {len(steps)} steps {first.shared} gradients had been used by a "
            "step "
            "of another optimiser, with no backward pass in between",
            why="these parameters move twice by one gradient, and each optimiser's moments count the other's "
            "moves",
            fix="give each parameter to one optimiser only; groups of one optimiser may have their own rates",
        )
