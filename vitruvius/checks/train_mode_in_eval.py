"""The network is evaluated in training mode: dropout drops, BatchNorm uses and changes batch statistics."""

import linecache
import re
from itertools import pairwise

from vitruvius.checks import Backward, Finding, Findings, Forward, Step, Trace, lines, named, training
from vitruvius.checks._patches import evaluated
from vitruvius.checks._places import uncalled
from vitruvius.checks._words import speaks_of_test

LESSON = "normalisation"
SICK = training(net="nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 1))")
SICK += "with torch.no_grad():\n    print(net(torch.randn(8, 3)).mean())  # here\n"
HEALTHY = SICK.replace("with torch.no_grad", "net.eval()\nwith torch.no_grad")
CALL = re.compile(r"(_ = )?(self\.)?(?!print\b)\w+\([^()]*(\(\w*\))?[^()]*\)")


def train_mode_in_eval(trace: Trace) -> Findings:
    """Dropout or BatchNorm in training mode under no_grad, in a network that is trained elsewhere."""
    trained = {event.network for event in trace.forwards()}
    noisy = [event for event in trace.of(Forward) if not event.grad and event.training_module]
    noisy = [event for event in noisy if event.network in trained]
    # Before the first step such a pass only builds lazy layers or shows shapes.
    noisy = [event for event in noisy if event.step and (event.training or event.batch_norm)]
    unused = _unused(trace)
    noisy += unused
    for line, here in trace.grouped(noisy, "where").items():
        recomputes = any(event.updates_statistics for event in here)
        if recomputes or _is_unused(line) or _feeds_training(trace, here):
            continue
        yield Finding(
            where=uncalled(line, "eval") or line,
            module=named(trace, here[0].training_module),
            also=lines(noisy),
            evidence=f"{len(here)} forward passes that train nothing ran module {here[0].training_module} "
            "in training mode",
            why="results depend on chance and on the other rows, and BatchNorm learns from the test data",
            fix="model.eval() before evaluating, model.train() before training goes on",
            patch=evaluated(line),
            # That words speak of a test is no proof.
            confidence="heuristic" if here[0] in unused or _feeds_training(trace, here, False) else "exact",
        )
        return


def _feeds_training(trace: Trace, here: list[Forward], words: bool = True) -> bool:
    """Whether such passes are part of the training step, as the fakes of a GAN or pseudo-labels are."""
    line, first = here[0].where, trace.unbroken().events
    steps = [event.step for event in here if not first or event.step <= first[-1].step]
    each_step = all(later - earlier == 1 for earlier, later in pairwise(steps))
    in_step = (
        each_step and not (words and speaks_of_test(here[0])) and len({event.batch for event in here}) > 1
    )
    followed, waiting = 0, False
    for event in trace.of(Forward, Backward):
        if isinstance(event, Forward) and event.where == line and not event.grad:
            waiting = True
        elif isinstance(event, Forward) and event.grad and event.network == here[0].network:
            waiting = waiting and in_step  # training goes on: what lies between two epochs is an evaluation
        elif isinstance(event, Backward) and waiting:
            followed, waiting = followed + 1, False
    return len(here) > 3 and followed >= 0.9 * len(here)


def _is_unused(where: str) -> bool:
    """Whether the line only calls a network and drops the result: the BatchNorm statistics are wanted."""
    file, _, line = where.rpartition(":")
    return bool(CALL.fullmatch(linecache.getline(file, int(line or 0)).partition("#")[0].strip()))


def _unused(trace: Trace) -> list[Forward]:
    """Passes with gradients that no backward pass follows, where the code speaks of a test."""
    found: list[Forward] = []
    open_pass: dict[int, Forward] = {}
    for event in trace.of(Forward, Backward):
        if isinstance(event, Backward):
            open_pass = {}
        elif isinstance(event, Forward) and event.grad:
            found += [open_pass[event.network]] if event.network in open_pass else []
            open_pass[event.network] = event
    found += open_pass.values()
    found = [event for event in found if event.training_module and event.training and event.step]
    return [event for event in found if speaks_of_test(event) and not _is_each_step(trace, event)]


def _is_each_step(trace: Trace, event: Forward) -> bool:
    """Whether the line runs on a new batch in every step: D(real) before D(fake) is no evaluation."""
    here = [other for other in trace.forwards() if other.where == event.where]
    optimisers = len({step.optimiser for step in trace.of(Step)})
    steps = len({other.step for other in here})
    often = steps == len(here) and steps * max(optimisers, 1) >= 0.5 * trace.watched
    return often and len({other.batch for other in here}) > 1
