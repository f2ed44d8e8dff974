"""The network is evaluated in training mode: dropout drops, BatchNorm uses and changes batch statistics."""

import linecache
import re
from collections.abc import Iterator
from itertools import pairwise

from vitruvius.checks import Event, Finding, Trace
from vitruvius.checks._modules import named
from vitruvius.checks._words import speaks_of_test

SICK = """
import torch
net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(6):
    optimizer.zero_grad()
    net(torch.randn(8, 3)).square().mean().backward()
    optimizer.step()
with torch.no_grad():
    print(net(torch.randn(8, 3)).mean())  # here
"""
HEALTHY = SICK.replace("with torch.no_grad", "net.eval()\nwith torch.no_grad")
CALL = re.compile(r"(_ = )?(self\.)?(?!print\b)\w+\([^()]*(\(\w*\))?[^()]*\)")


def train_mode_in_eval(trace: Trace) -> Iterator[Finding]:
    """Dropout or BatchNorm in training mode under no_grad, in a network that is trained elsewhere."""
    forwards = trace.of("forward")
    trained = {event["root"] for event in forwards if event["grad"]}
    noisy = [event for event in forwards if not event["grad"] and event["noisy"] and event["root"] in trained]
    # Before the first step such a pass only builds lazy layers or shows shapes.
    noisy = [event for event in noisy if event.step and (event["training"] or event["normalising"])]
    noisy += _unused(trace)
    for line in dict.fromkeys(event.where for event in noisy):
        here = [event for event in noisy if event.where == line]
        if any(event["refreshing"] for event in here) or _is_unused(line) or _feeds_training(trace, here):
            continue
        yield Finding(
            where=line,
            module=named(trace, here[0]["noisy"]),
            also=tuple({event.where for event in noisy}),
            evidence=f"{len(here)} forward passes that train nothing ran module {here[0]['noisy']} in training mode",
            why="results depend on chance and on the other rows, and BatchNorm learns from the test data",
            fix="model.eval() before evaluating, model.train() before training goes on",
            exact=True,
        )
        return


def _feeds_training(trace: Trace, here: list[Event]) -> bool:
    """Whether such passes stand in the training step itself, as the fakes of a GAN or pseudo-labels do."""
    line, steps = here[0].where, [event.step for event in here]
    each_step = all(later - earlier == 1 for earlier, later in pairwise(steps)) and not speaks_of_test(
        here[0]
    )
    in_step = each_step and len({event["batch"] for event in here}) > 1
    followed, waiting = 0, False
    for event in trace.of("forward", "backward"):
        if event.kind == "forward" and event.where == line and not event["grad"]:
            waiting = True
        elif event.kind == "forward" and event["grad"] and event["root"] == here[0]["root"]:
            waiting = waiting and in_step  # training goes on: what lies between two epochs is an evaluation
        elif event.kind == "backward" and waiting:
            followed, waiting = followed + 1, False
    return len(here) > 3 and followed >= 0.9 * len(here)


def _is_unused(where: str) -> bool:
    """Whether the line is nothing but the call of a network: its result is thrown away, its statistics are wanted."""
    file, _, line = where.rpartition(":")
    return bool(CALL.fullmatch(linecache.getline(file, int(line or 0)).partition("#")[0].strip()))


def _unused(trace: Trace) -> list[Event]:
    """Passes with gradients that no backward pass follows, where the code speaks of a test."""
    found: list[Event] = []
    open_pass: dict[int, Event] = {}
    for event in trace.of("forward", "backward"):
        if event.kind == "backward":
            open_pass = {}
        elif event["grad"]:
            found += [open_pass[event["root"]]] if event["root"] in open_pass else []
            open_pass[event["root"]] = event
    found += open_pass.values()
    return [
        event
        for event in found
        if event["noisy"] and event["training"] and event.step and speaks_of_test(event)
    ]
