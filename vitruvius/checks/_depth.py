"""Gradients by depth, at the first steps of a training."""

from math import isnan
from statistics import median
from typing import NamedTuple

from vitruvius.checks import Gradients, Step, Trace

FIRST_STEPS = 3
FEWEST_LAYERS = 6
OVERFLOWN = 1e19
RECURRENT = ("RNN", "LSTM", "GRU", "Cell")  # layers that are deep in time: a few of them suffice


class Profile(NamedTuple):
    """Sizes of gradients along a network."""

    ratio: float  # RMS of the first three weight matrices over that of the last three
    middle: float  # RMS of the middle three over that of the last three
    largest: float
    layers: int
    falls_at: str  # counted from the loss: the first weight with less than a hundredth of the last
    where: str
    forward: str


def by_depth(trace: Trace, steps: int = FIRST_STEPS) -> Profile | None:
    """The profile of the first steps; None if there are too few layers."""
    early = [event for event in trace.of(Gradients) if event.step < steps]
    line, trained = _trained_together(trace, early)
    early = [event for event in early if not line or event.where == line]
    known = trace.parameters
    keys = [key for key in known if known[key].layer and "Embedding" not in known[key].layer]
    keys = [key for key in keys if not line or key in trained]
    keys = [key for key in keys if known_sizes(early, key)]
    keys = [key for key in keys if trace.parameters[key].reached and trace.parameters[key].name]
    sizes = [(key, median(known_sizes(early, key))) for key in keys]
    sizes = [(key, size) for key, size in sizes if size > 0]
    recurrent = any(mark in trace.parameters[key].layer for key, _ in sizes for mark in RECURRENT)
    if not sizes or (len(sizes) < FEWEST_LAYERS and not recurrent):
        return None
    first, last = median(size for _, size in sizes[:3]), median(size for _, size in sizes[-3:])
    ratio = first / last if len(sizes) >= FEWEST_LAYERS else 1.0
    half = len(sizes) // 2
    middle = median(size for _, size in sizes[max(0, half - 1) : half + 2]) / last
    low = [key for key, size in reversed(sizes) if size < last / 100]
    forward = next((event.where for event in trace.forwards()), early[0].where)
    falls_at = trace.parameters[low[0]].name if low else trace.parameters[sizes[0][0]].name
    largest = max(size for _, size in sizes)
    return Profile(ratio, middle, largest, len(sizes), falls_at, early[0].where, forward)


def _trained_together(trace: Trace, early: list[Gradients]) -> tuple[str, set[int]]:
    """The backward pass whose gradients steps apply to most parameters, and these; empty with one optimiser.

    The two networks of a GAN have optimisers of their own: their gradients are not compared.
    """
    steps = trace.of(Step)
    if len({step.optimiser for step in steps}) < 2:
        return "", set()
    applied: dict[str, set[int]] = {event.where: set() for event in early}
    for step in steps:
        for waiting in step.waiting:
            if waiting.where in applied:
                applied[waiting.where].update(step.parameters)
    line, keys = max(applied.items(), key=lambda item: len(item[1]), default=("", set()))
    return (line, keys) if keys else ("", set())


def known_sizes(events: list[Gradients], key: int) -> list[float]:
    """The RMS values of one gradient without NaN, cut where squares overflow in float32."""
    sizes = [event.rms[key] for event in events if key in event.rms]
    return [min(size, OVERFLOWN) for size in sizes if not isnan(size)]
