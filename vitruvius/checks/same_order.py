"""Every epoch shows the same batches in the same order."""

from vitruvius.checks import Backward, Finding, Findings, LoaderUsed, Trace, lines
from vitruvius.checks._data_lines import order_line
from vitruvius.checks._seeds import seeded_again

SICK = """
import torch
x = torch.randn(64, 3)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for epoch in range(4):
    for batch in x.split(8):
        optimizer.zero_grad()
        net(batch).square().mean().backward()  # here
        optimizer.step()
"""
HEALTHY = SICK.replace("x.split", "x[torch.randperm(64)].split")
FEWEST = 4


def same_order(trace: Trace) -> Findings:
    """The sequence of training batches repeats with a period of a few batches or more.

    A network that is also given its last state needs the order; it is left alone.
    """
    whole, trace = trace, trace.unbroken()
    trained = {event.batch for event in trace.of(Backward)}
    shown: dict[tuple[str, int], list[int]] = {}
    for event in trace.forwards():
        if event.single_input and event.batch in trained:
            shown.setdefault((event.where, event.network), []).append(event.batch)
    for (line, _), batches in shown.items():
        period = next((index for index in range(1, len(batches)) if batches[index] == batches[0]), 0)
        if period < FEWEST or len(batches) < 2 * period or len(set(batches[:period])) < period:
            continue
        if all(batches[index] == batches[index - period] for index in range(period, len(batches))):
            seeded = seeded_again(line)
            yield Finding(
                where=seeded or _loader(whole, line) or order_line(line) or line,
                also=(line, *lines(trace.of(Backward))),
                evidence=f"{len(batches)} batches are {len(batches) / period:.1f} passes over the same "
                f"{period} batches in the same order" + ("; a seed is set in a loop" if seeded else ""),
                why="gradients of neighbouring batches stay correlated and a sorted data set biases every "
                "epoch",
                fix="set the seed once, before the loop"
                if seeded
                else "DataLoader(..., shuffle=True), or a new torch.randperm for every epoch",
            )
            return


def _loader(trace: Trace, line: str) -> str:
    """Where the DataLoader that gives the batches of a line is built; empty if it is not known which does."""
    loaded = all(event.epoch for event in trace.forwards() if event.where == line)
    built = {event.built for event in trace.of(LoaderUsed) if event.trained} if loaded else set()
    return built.pop() if len(built) == 1 else ""
