"""A view or reshape where a transpose was meant: the numbers stay in their order and land in other rows."""

from vitruvius.checks import Finding, Findings, Reshaped, Trace, named, training

SICK = training(
    "x = torch.randn(4, 6, 3)",
    "h = net(x).view(4, 8, 6)  # here",
    "(h.mean(1) - x.sum(2)).square().mean().backward()",
    net="nn.Linear(3, 8)",
)
HEALTHY = SICK.replace("view(4, 8, 6)", "transpose(1, 2)")


def view_for_transpose(trace: Trace) -> Findings:
    """Reshapes that keep no border between axes, and yet one of the axes reappears whole."""
    events = trace.of(Reshaped)
    for line, here in trace.grouped(events, "where").items():
        event = here[0]
        if _pairs(event.before, event.after):
            continue
        yield Finding(
            where=line,
            module=named(trace, event.module),
            evidence=f"{list(event.before)} is viewed as {list(event.after)}: the axis of {event.axis} is at "
            "another place, its numbers are not",
            why="view and reshape never move numbers: what was one token, head or row is now cut across "
            "several",
            fix="transpose or permute first: for heads view(B, T, H, D).transpose(1, 2)",
            explains=("rate_too_low",),
        )


def _pairs(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """Whether two axes that differ by one change places, as in the shift of relative positions."""
    moved = [(a, b) for a, b in zip(before, after, strict=False) if a != b]
    return len(before) == len(after) and len(moved) == 2 and abs(moved[0][0] - moved[1][0]) == 1
