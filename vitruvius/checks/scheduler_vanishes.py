"""The scheduler lets the learning rate vanish: most of the training runs at almost zero."""

from vitruvius.checks import Finding, Findings, OptimiserBuilt, SchedulerStep, Step, Trace, lines, training

SCHEDULER = "scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, gamma=0.1)"
SICK = training(steps=40).replace("for step", f"{SCHEDULER}\nfor step") + "    scheduler.step()  # here\n"
HEALTHY = SICK.replace("gamma=0.1", "gamma=0.9")
SMALL, SHARE = 5e-3, 0.5


def scheduler_vanishes(trace: Trace) -> Findings:
    """More than half of an optimiser's steps use less than 1/200 of its largest rate."""
    for optimiser, moves in trace.grouped(trace.of(SchedulerStep), "optimiser").items():
        rates = [event.lr for event in trace.of(Step) if event.optimiser == optimiser]
        if len(rates) < 10 or max(rates) == 0:
            continue
        idle = sum(rate < SMALL * max(rates) for rate in rates[rates.index(max(rates)) :])
        if idle > SHARE * len(rates):
            yield Finding(
                where=moves[0].where,
                also=lines(trace.of(OptimiserBuilt)),
                evidence=f"{idle} of {len(rates)} steps ran at less than 1/200 of the rate {max(rates):g}; "
                f"the scheduler stepped {len(moves)} times and ended at {moves[-1].lr:.1e}",
                why="a schedule that counts epochs and is stepped for every batch is through after a few "
                "batches",
                fix="step it once per epoch, or give it the number of batches it is stepped for",
                explains=("rate_too_low",),
            )
