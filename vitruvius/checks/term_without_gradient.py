"""A term of the loss has no gradient: it is computed, added and changes nothing."""

from collections import defaultdict
from typing import Literal

from vitruvius.checks import Backward, Finding, Findings, GraphFacts, Trace, training

SICK = training(
    "h = net(torch.randn(8, 3))",
    "loss = h.square().mean() + 0.1 * h.abs().mean().item()  # here",
    "loss.backward()",
)
HEALTHY = SICK.replace(".item()", "")


def term_without_gradient(trace: Trace) -> Findings:
    """A number that is added to the loss without a gradient and is another one at other steps."""
    graphs = trace.graphs()
    numbers: dict[str, list[float]] = defaultdict(list)
    for _, graph in graphs:
        for where in dict.fromkeys(where for where, _ in graph.constants):
            numbers[where].append(sum(value for line, value in graph.constants if line == where))
    for where, values in numbers.items():
        if len(set(values)) > 1 and _differs(values):
            said = f"what is added has no gradient: {values[0]:.4g}, then {values[1]:.4g}"
            yield _finding(where, said, "warning")
            return
    cuts = [graph.cut for _, graph in graphs if graph.cut]
    if len(cuts) > 1 and 2 * len(cuts) > len(graphs):
        where, summed, value = cuts[0]
        said = f"a comparison has no gradient, and its result ({value:.4g} at first) is added to the loss"
        yield _finding(where, said, "warning", summed)
        return
    for event, _, leaves in _fresh(trace, graphs):
        said = (
            f"{leaves} new single numbers with requires_grad=True in {len(graphs)} losses; no "
            "optimiser holds them"
        )
        yield _finding(event.where, said, "error")
        return


def _differs(values: list[float]) -> bool:
    """Whether numbers vary otherwise than a schedule: not all in one direction by the same difference."""
    steps = [b - a for a, b in zip(values, values[1:], strict=False)]
    return len(values) < 3 or any(abs(step - steps[0]) > 1e-9 * abs(values[0]) for step in steps)


def _fresh(trace: Trace, graphs: list[tuple[Backward, GraphFacts]]) -> list[tuple[Backward, GraphFacts, int]]:
    """Losses in which a number with requires_grad, made anew each time, is added."""
    held = trace.optimised()
    keys = [key for _, graph in graphs for key in graph.scalar_leaves if key not in held]
    named = {key for key, parameter in trace.parameters.items() if parameter.name}
    with_some = [(e, g, len(keys)) for e, g in graphs if {*g.scalar_leaves} - held - named]
    return with_some[:1] if len(with_some) > 1 and len(set(keys)) == len(keys) > 1 else []


def _finding(where: str, evidence: str, severity: Literal["error", "warning"], summed: str = "") -> Finding:
    return Finding(
        where=where,
        also=(summed,) if summed else (),
        evidence=evidence,
        why="item(), detach(), a comparison, numpy, no_grad or torch.tensor(...) cut it off: the optimiser "
        "never lowers this term",
        fix="add the tensor itself, computed from the network's outputs or weights without leaving the graph",
        severity=severity,
        confidence="exact",
        explains=("rate_too_low",),
    )
