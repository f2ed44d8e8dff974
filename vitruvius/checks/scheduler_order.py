"""The scheduler steps before the optimiser: the first learning rate is skipped."""

from vitruvius.checks import Findings, SchedulerStep, Step, Trace, exact_error

SICK = """
import torch, warnings
warnings.simplefilter("ignore")
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
for step in range(6):
    scheduler.step()  # here
    optimizer.zero_grad()
    net(torch.randn(8, 3)).square().mean().backward()
    optimizer.step()
"""
HEALTHY = SICK.replace("    scheduler.step()  # here\n", "") + "    scheduler.step()\n"


def scheduler_order(trace: Trace) -> Findings:
    """A scheduler's step while its optimiser has made none, followed by steps."""
    early = [event for event in trace.of(SchedulerStep) if event.optimiser_steps == 0]
    stepped = {event.optimiser for event in trace.of(Step)}
    if early and early[0].optimiser in stepped:
        yield exact_error(
            where=early[0].where,
            evidence="scheduler.step() ran before the first optimizer.step()",
            why="the schedule is one place ahead: its first learning rate is never used",
            fix="call scheduler.step() after optimizer.step(), at the end of the epoch or step",
        )
