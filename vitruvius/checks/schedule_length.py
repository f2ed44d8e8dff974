"""The length of a learning-rate schedule does not fit the steps that it makes."""

from vitruvius.checks import Finding, Findings, LoaderUsed, SchedulerStep, Step, Trace, training

CYCLE = "scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=40)"
HEALTHY = training(steps=40).replace("for step", f"{CYCLE}\nfor step") + "    scheduler.step()  # here\n"
SICK = HEALTHY.replace("    scheduler.step()", "    if step % 10 == 9: scheduler.step()")
FEWEST = 20


def schedule_length(trace: Trace) -> Findings:
    """Schedules that end far too early or too late for the optimiser's steps, and warm-ups without an end."""
    for built in dict.fromkeys((event.optimiser, event.built) for event in trace.of(SchedulerStep)):
        moves = [event for event in trace.of(SchedulerStep) if (event.optimiser, event.built) == built]
        steps = trace.made.get(built[0], 0)
        if moves[-1].failed:
            yield _finding(moves, moves[-1].where, _refused(moves, steps))
            continue
        if steps < FEWEST:
            continue
        if moves[0].name in ("SequentialLR", "ChainedScheduler"):
            reason = _endless(moves, steps) if trace.ended else ""
            if reason:
                yield _finding(moves, moves[0].built or moves[0].where, reason)
            continue
        watched = [event for event in trace.of(Step) if event.optimiser == built[0]]
        reason = _too_long(moves, steps, watched) if trace.ended else ""
        line = moves[0].where
        if not reason:
            reason = _too_short(moves, steps, _epochs(trace))
        if not reason and trace.ended:
            reason, line = _endless(moves, steps), moves[0].built or moves[0].where
        if reason:
            yield _finding(moves, line, reason)


def _finding(moves: list[SchedulerStep], where: str, evidence: str) -> Finding:
    return Finding(
        where=where,
        also=(moves[0].where, moves[0].built),
        evidence=evidence,
        why="a schedule counts calls of its step(): its length must be in the same unit, batches or epochs",
        fix="call scheduler.step() after every optimizer.step() and give the number of these calls, or count "
        "both in epochs",
        explains=("scheduler_vanishes", "rate_too_low"),
    )


def _refused(moves: list[SchedulerStep], steps: int) -> str:
    return (
        f"{moves[0].name} is made for {moves[0].length} steps and has refused the next one, after "
        f"{steps} optimiser steps"
    )


def _too_long(moves: list[SchedulerStep], steps: int, watched: list[Step]) -> str:
    """A schedule made for the optimiser's steps, or for its backward passes, that is stepped more rarely."""
    length, made = moves[0].length, len(moves)
    backward = round(steps * sum(len(event.waiting) for event in watched) / max(1, len(watched)))
    if length is None or made > 0.6 * length:
        return ""
    for count, unit in ((steps, "optimiser steps"), (backward, "backward passes")):
        if 0.9 * length <= count <= 1.2 * length and count > 1.5 * made:
            return (
                f"{moves[0].name} is made for {length} steps, as many as there were {unit} ({count}), but "
                f"was stepped {made} times: it ended at {moves[-1].lr:.3g}, in the middle"
            )
    return ""


def _epochs(trace: Trace) -> int:
    """Passes over the data loader that was trained on; 0 if there is none."""
    loaders = [event for event in trace.of(LoaderUsed) if event.trained]
    return max((event.epochs for event in loaders), default=0)


def _too_short(moves: list[SchedulerStep], steps: int, epochs: int) -> str:
    """A cosine whose half period is over several times, because it counts epochs and steps are batches."""
    length, made = moves[0].length, len(moves)
    if moves[0].name != "CosineAnnealingLR" or not length or made < 0.9 * steps or length < 2:
        return ""
    epoch = steps / epochs if epochs else 0  # steps of an epoch: a cosine of that length is meant
    if made < 3 * length or (epochs != length and abs(length - epoch) <= 0.02 * epoch):
        return ""
    rising = sum(after.lr > before.lr for before, after in zip(moves, moves[1:], strict=False))
    return (
        f"T_max is {length} and the scheduler was stepped {made} times, once per optimiser step: the rate "
        f"went down and up again {made / (2 * length):.1f} times ({rising} steps raised it)"
    )


def _endless(moves: list[SchedulerStep], steps: int) -> str:
    """A rate that rises to the end and stays below half of the optimiser's own."""
    rates = [event.lr for event in moves]
    rises = all(after > before for before, after in zip(rates, rates[1:], strict=False))
    if len(rates) < 5 or not rises or moves[-1].initial <= 0 or rates[-1] >= 0.5 * moves[-1].initial:
        return ""
    return (
        f"the rate rose in all {len(rates)} steps of {moves[0].name} and ended at {rates[-1]:.3g}, "
        f"{rates[-1] / moves[-1].initial:.1%} of {moves[-1].initial:g}, after {steps} optimiser steps: the "
        "warm-up never ends"
    )
