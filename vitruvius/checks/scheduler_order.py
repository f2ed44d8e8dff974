"""The scheduler steps before the optimiser: the first learning rate is skipped."""

from vitruvius.checks import BATCH, SGD, Findings, SchedulerStep, Step, Trace, exact_error, training
from vitruvius.checks._patches import behind_next_step

SCHEDULED = f"{SGD}\nscheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)"
QUIET = "import warnings; warnings.simplefilter('ignore')"
SICK = training("scheduler.step()  # here", BATCH, init=QUIET, optimiser=SCHEDULED)
HEALTHY = training(optimiser=SCHEDULED) + "    scheduler.step()\n"


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
            patch=behind_next_step(early[0].where),
        )
