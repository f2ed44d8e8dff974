"""The network is evaluated in training mode: dropout drops, BatchNorm uses and changes batch statistics."""

from collections.abc import Iterator

from vitruvius.checks import Event, Finding, Trace
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


def train_mode_in_eval(trace: Trace) -> Iterator[Finding]:
    """Dropout or BatchNorm in training mode under no_grad, in a network that is trained elsewhere."""
    forwards = trace.of("forward")
    trained = {event["root"] for event in forwards if event["grad"]}
    noisy = [event for event in forwards if not event["grad"] and event["noisy"] and event["root"] in trained]
    noisy = [event for event in noisy if event["training"] or event["normalising"]]
    noisy += _unused(trace)
    for line in dict.fromkeys(event.where for event in noisy):
        here = [event for event in noisy if event.where == line]
        if any(event["refreshing"] for event in here) or _feeds_training(trace, line, len(here)):
            continue
        yield Finding(
            where=line,
            also=tuple({event.where for event in noisy}),
            evidence=f"{len(here)} forward passes that train nothing ran module {here[0]['noisy']} in training mode",
            why="results depend on chance and on the other rows, and BatchNorm learns from the test data",
            fix="model.eval() before evaluating, model.train() before training goes on",
            exact=True,
        )
        return


def _feeds_training(trace: Trace, line: str, times: int) -> bool:
    """Whether such a pass stands in the training step itself, as the fakes of a GAN do."""
    followed, waiting = 0, False
    for event in trace.of("forward", "backward"):
        if _is(event, line):
            waiting = True
        elif event.kind == "backward" and waiting:
            followed, waiting = followed + 1, False
    return times > 3 and followed >= 0.9 * times


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
    return [event for event in found if event["noisy"] and event["training"] and event.step and speaks_of_test(event)]


def _is(event: Event, line: str) -> bool:
    return event.kind == "forward" and event.where == line and not event["grad"]
