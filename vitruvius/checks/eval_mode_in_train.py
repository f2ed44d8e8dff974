"""The network is trained in eval mode: dropout is off and BatchNorm keeps its first statistics."""

from collections.abc import Iterator

from vitruvius.checks import Event, Finding, Trace
from vitruvius.checks._modules import named

SICK = """
import torch
net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for epoch in range(4):
    for step in range(6):
        optimizer.zero_grad()
        loss = net(torch.randn(8, 3)).square().mean()  # here
        loss.backward()
        optimizer.step()
    net.eval()
"""
HEALTHY = SICK.replace("for epoch in range(4):", "for epoch in range(4):\n    net.train()")


def eval_mode_in_train(trace: Trace) -> Iterator[Finding]:
    """The last forward pass before a step, with gradients, ran in eval mode although a switch in it matters."""
    last: dict[int, Event] = {}
    resting: list[Event] = []
    steps = 0
    for event in trace.of("forward", "step"):
        if event.kind == "forward" and event["grad"]:
            last[event["root"]] = event
        elif event.kind == "step":
            steps += 1
            resting += [e for e in last.values() if not e["training"] and e["resting"] and not e["noisy"]]
            last = {}
    learning = [event for event in resting if _learns(trace, event)]
    frozen = any(known.ran and not known.trainable for known in trace.parameters.values())
    if len(learning) > 2 and not frozen:  # beside frozen parts eval mode is usually meant
        first = learning[0]
        yield Finding(
            where=first.where,
            module=named(trace, first["resting"]),
            also=tuple({event.where for event in trace.of("backward", "step")}),
            evidence=f"{len(learning)} of {steps} steps trained {first['name']} in eval mode, the first after step "
            f"{first.step}; module {first['resting']} rests",
            why="dropout does not regularise and BatchNorm does not learn its statistics",
            fix="model.train() at the beginning of every epoch, after any evaluation",
            exact=True,
        )


def _learns(trace: Trace, event: Event) -> bool:
    """Whether a backward pass belongs to this forward pass."""
    return any(found["of"] == event["root"] and found.step == event.step for found in trace.of("backward"))
