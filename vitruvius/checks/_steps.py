"""Gradient accumulation: several backward passes for one step."""

from typing import NamedTuple

from vitruvius.checks import Step, Trace, lines


class Group(NamedTuple):
    """The usual accumulation of one optimiser: how many backward passes at one line make a step."""

    optimiser: int
    size: int
    line: str
    steps: list[Step]


def accumulations(trace: Trace) -> list[Group]:
    """Optimisers whose steps follow several backward passes of different batches at one line."""
    found = []
    for optimiser, steps in trace.grouped(
        (step for step in trace.of(Step) if step.waiting), "optimiser"
    ).items():
        several = [event for event in steps if len(lines(event.waiting)) == 1]
        several = [event for event in several if len({item.batch for item in event.waiting}) > 1]
        if len(several) > 1 and 2 * len(several) > len(steps):
            size = max(len(event.waiting) for event in several)
            found.append(Group(optimiser, size, several[0].waiting[0].where, several))
    return found


def line(where: str) -> str:
    """`file.py:12` as `line 12`."""
    return f"line {where.rpartition(':')[2]}"
