"""Two optimisers move the same parameter by the same gradient: every step is made twice."""

from itertools import combinations, pairwise
from typing import Literal

from vitruvius.checks import Finding, Findings, Step, Trace, holding, lines, training

HEALTHY = training(net="nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))").replace(
    "SGD(net.parameters(), lr=0.01)",
    "SGD(net[0].parameters(), lr=0.01)\nsecond = torch.optim.SGD(net[1].parameters(), lr=0.01)",
)
HEALTHY = HEALTHY.replace("    optimizer.zero_grad()", "    net.zero_grad()") + "    second.step()  # here\n"
SICK = HEALTHY.replace("SGD(net[0].parameters()", "SGD(net.parameters()")


FEWEST = 3


def two_optimisers(trace: Trace) -> Findings:
    """Steps with gradients that another optimiser has just used, or two that move a parameter in turn."""
    steps = [event for event in trace.of(Step) if not event.wraps]
    twice = [event for event in steps if event.shared]
    if len(twice) > 1:
        yield _finding(
            trace,
            twice,
            f"in {len(twice)} of {len(steps)} steps {twice[0].shared} gradients had been used by a step of "
            "another optimiser, with no backward pass in between",
            "error",
        )
        return
    pairs = combinations(dict.fromkeys(event.optimiser for event in steps if event.common), 2)
    for pair in pairs:
        both = [event for event in steps if event.optimiser in pair and event.common]
        shared = set.intersection(
            *({key for event in both if event.optimiser == one for key in event.common} for one in pair)
        )
        turns = sum(before.optimiser != after.optimiser for before, after in pairwise(both))
        if shared and turns >= FEWEST:
            sizes = {one: len(next(e.parameters for e in both if e.optimiser == one)) for one in pair}
            larger = [event for event in both if event.optimiser == max(pair, key=lambda one: sizes[one])]
            said = f"{len(shared)} parameters are in two optimisers, which moved them in turn, each by "
            yield _finding(
                trace, larger, said + "gradients of its own loss", "info"
            )  # an adversarial encoder wants it
            return


def _finding(trace: Trace, found: list[Step], evidence: str, severity: Literal["error", "info"]) -> Finding:
    first = found[0]
    others = trace.of(Step)
    held = {key for event in others if event.optimiser != first.optimiser for key in event.parameters}
    names = [trace.parameters[key].name for key in first.parameters if key in held]
    return Finding(
        where=first.where,
        also=lines(found),
        module=holding([name for name in names if name]) if any(names) else None,
        evidence=evidence,
        why="each optimiser's moments and rate count the other's moves: what one loss gains the other undoes",
        fix="give each parameter to one optimiser only; groups of one optimiser may have their own rates",
        severity=severity,
        confidence="exact",
    )
