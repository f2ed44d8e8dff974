"""The network is trained in eval mode: dropout is off and BatchNorm keeps its first statistics."""

from vitruvius.checks import Backward, Finding, Findings, Forward, Step, Trace, lines, named
from vitruvius.checks._patches import trained_again
from vitruvius.checks._places import uncalled

LESSON = "dropout"
SICK = """
import torch
net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for epoch in range(4):
    for step in range(6):
        optimizer.zero_grad()
        net(torch.randn(8, 3)).square().mean().backward()  # here
        optimizer.step()
    net.eval()
"""
HEALTHY = SICK.replace("for epoch in range(4):", "for epoch in range(4):\n    net.train()")


def eval_mode_in_train(trace: Trace) -> Findings:
    """The last forward pass with gradients before a step ran in eval mode, and that makes a difference."""
    last: dict[int, Forward] = {}
    resting: list[Forward] = []
    steps = 0
    for event in trace.of(Forward, Step):
        if isinstance(event, Forward) and event.grad:
            last[event.network] = event
        elif isinstance(event, Step):
            steps += 1
            evaluated = [forward for forward in last.values() if not forward.training]
            resting += [found for found in evaluated if found.eval_module and not found.training_module]
            last = {}
    passes = {(event.network, event.step) for event in trace.of(Backward)}
    learning = [event for event in resting if (event.network, event.step) in passes]
    frozen = any(known.ran and not known.trainable for known in trace.parameters.values())
    if len(learning) > 2 and not frozen:  # beside frozen parts eval mode is usually meant
        first = learning[0]
        yield Finding(
            where=uncalled(first.where, "train") or first.where,
            module=named(trace, first.eval_module),
            also=(first.where, *lines(trace.of(Backward, Step))),
            evidence=f"{len(learning)} of {steps} steps trained {first.name} in eval mode, the first after "
            f"step {first.step}; module {first.eval_module} rests",
            why="dropout does not regularise and BatchNorm does not learn its statistics",
            fix="model.train() at the beginning of every epoch, after any evaluation",
            patch=trained_again(first.where),
            confidence="exact",
        )
